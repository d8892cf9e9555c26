package attack
import ("testing";"time";"fmt";"slices")
func TestYield(t *testing.T){
 a:=serverOf(t)
 for _,rate:=range []float64{1000,4000}{
 m:=map[time.Duration]map[string][]time.Duration{}
 ys:=[]time.Duration{-time.Hour,0,50*time.Microsecond,200*time.Microsecond,time.Hour}
 for i:=range 14 { for _,y:=range ys { shortestYield=y
  c:=config(t,rate,time.Second,a); c.Schedule=poissonSchedule(t,rate,time.Second,uint64(i))
  r:=run(t,c)
  lag:=[]time.Duration{}; for _,h:=range r.Hits {lag=append(lag,h.Lag())}
  slices.Sort(lag)
  if m[y]==nil {m[y]=map[string][]time.Duration{}}
  for _,p:=range []int{50,90,99}{ k:=fmt.Sprint(p); m[y][k]=append(m[y][k],percentile(lag,p))}
  m[y]["s50"]=append(m[y]["s50"], func()time.Duration{s:=[]time.Duration{};for _,h:=range r.Hits{s=append(s,h.Service())};slices.Sort(s);return percentile(s,50)}())
 }}
 for _,y:=range ys { l:=fmt.Sprintf("rate %v yield>%v",rate,y); for _,k:=range []string{"50","90","99","s50"} { v:=m[y][k]; slices.Sort(v); l+=fmt.Sprintf("  %s: %v/%v/%v",k,v[0].Microseconds(),v[3].Microseconds(),v[7].Microseconds())}; t.Log(l)}
 }
}
