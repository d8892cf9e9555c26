package attack

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
)

// The measurements of this file take minutes, want a quiet machine, and judge nothing. Run them with
//
//	HOTSKU_MEASURE=1 go test -run Measure -v ./bench/attack
func measuring(t *testing.T) {
	t.Helper()
	if os.Getenv("HOTSKU_MEASURE") != "1" {
		t.Skip("a measurement: set HOTSKU_MEASURE=1")
	}
}

// serverOf starts this test binary as a server of empty answers and returns its address.
func serverOf(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), self)
	server.Env = append(os.Environ(), serverProcess+"=1")
	server.Stderr = os.Stderr
	hold, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		hold.Close()
		_ = server.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// TestMeasureLag tells how late hits are sent at 1,000 a second, in five attacks of 10 s, beside how late a bare
// sleeper wakes that has nothing to send: the machine's share of the lag. The quietest 1,000 hits of an attack show
// what the generator does when nobody disturbs it.
func TestMeasureLag(t *testing.T) {
	measuring(t)
	address := serverOf(t)
	var p99s, seconds []time.Duration
	for seed := range uint64(5) {
		bare := bareSleeper(t, poissonSchedule(t, 1000, 2*time.Second, seed))
		c := config(t, 1, time.Second, address)
		c.Schedule = poissonSchedule(t, 1000, 10*time.Second, seed)
		report := run(t, c)
		lag, quiet := lags(report.Hits), time.Hour
		for second := range slices.Chunk(report.Hits, 1000) {
			quiet = min(quiet, percentile(lags(second), 99))
		}
		t.Logf("lag p50 %v, p90 %v, p99 %v, max %v; quietest 1000 hits p99 %v; bare sleeper p50 %v, p99 %v; CPU %.3f",
			percentile(lag, 50), percentile(lag, 90), percentile(lag, 99), lag[len(lag)-1], quiet,
			percentile(bare, 50), percentile(bare, 99), report.Attack.CPU)
		p99s, seconds = append(p99s, report.LagP99), append(seconds, quiet)
	}
	slices.Sort(p99s)
	slices.Sort(seconds)
	t.Logf("lag p99: best %v, median %v; of the quietest 1000 hits: best %v, median %v",
		p99s[0], p99s[2], seconds[0], seconds[2])
}

// bareSleeper returns how late the pacer's sleep wakes by a schedule, sorted.
func bareSleeper(t *testing.T, schedule []time.Duration) []time.Duration {
	t.Helper()
	zero := time.Now()
	clock, err := newClock(zero)
	if err != nil {
		t.Fatal(err)
	}
	late := make([]time.Duration, len(schedule))
	for i, due := range schedule {
		clock.sleepUntil(due)
		late[i] = max(0, time.Since(zero)-due)
	}
	slices.Sort(late)
	return late
}

// A trial at one rate: the rate of answers from time zero to the last, and whether that kept up with what was offered.
type trial struct {
	answered float64       // per second
	cpu      time.Duration // of the generator's process for each hit
	kept     bool
	note     string
}

const trialTime = 2 * time.Second

// keptUp is the share of the offered rate at which answers must come for a generator to have kept up.
const keptUp = 0.99

// TestMeasureRate climbs in steps of 7 % and tells how many answers a second this package and the vegeta command came
// to, each rung tried by both in turn, until neither has kept up four times in a row. It also tells the processor time
// that a hit costs each, which does not depend on what else the machine does. The command's hits bear the same headers
// and body.
func TestMeasureRate(t *testing.T) {
	measuring(t)
	command, address := buildVegeta(t), serverOf(t)
	var highest, cpu [2][]float64
	for range 3 {
		var top [2]float64
		for rate, failures := 4000.0, 0; failures < 4; rate *= 1.07 {
			ours, theirs := ownTrial(t, address, rate), commandTrial(t, command, address, rate)
			t.Logf("%6.0f/s offered: %s | vegeta command: %s", rate, ours.note, theirs.note)
			failures++
			for i, one := range []trial{ours, theirs} {
				top[i] = max(top[i], one.answered)
				cpu[i] = append(cpu[i], one.cpu.Seconds()*1e6)
				if one.kept {
					failures = 0
				}
			}
		}
		for i := range top {
			highest[i] = append(highest[i], top[i])
		}
	}
	for i, name := range []string{"this package", "vegeta command"} {
		slices.Sort(highest[i])
		slices.Sort(cpu[i])
		t.Logf("%-14s: answers/s best %.0f, median %.0f; CPU µs/hit best %.1f, median %.1f",
			name, highest[i][2], highest[i][1], cpu[i][0], cpu[i][len(cpu[i])/2])
	}
}

func ownTrial(t *testing.T, address string, rate float64) trial {
	t.Helper()
	report := run(t, config(t, rate, trialTime, address))
	a := report.Attack
	answered := float64(a.Sent) / a.Elapsed.D().Seconds()
	failed := []string{"passes the gates"}
	for _, gate := range Gates(results.Gates{}, report) {
		if !gate.Passed {
			failed = append(failed, gate.Name)
			failed[0] = "fails:"
		}
	}
	kept := answered >= keptUp*rate && a.SocketErrors == 0
	cpu := time.Duration(a.CPU * float64(runtime.GOMAXPROCS(0)) * float64(a.Elapsed) / float64(a.Sent))
	return trial{answered, cpu, kept, fmt.Sprintf("%6.0f/s, kept up %-5v, lag p99 %v, in flight %d, CPU %v a hit, %s",
		answered, kept, report.LagP99, a.InFlight, cpu, strings.Join(failed, " "))}
}

func buildVegeta(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vegeta")
	build := exec.CommandContext(t.Context(), "go", "build", "-modfile=../../tools/go.mod", "-o", path,
		"github.com/tsenart/vegeta/v12")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build vegeta: %v\n%s", err, out)
	}
	return path
}

func commandTrial(t *testing.T, command, address string, rate float64) trial {
	t.Helper()
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte(`{"sku":"hot","quantity":3,"customer":"customer-10249"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	attack := exec.CommandContext(t.Context(), command, "attack",
		fmt.Sprintf("-rate=%.0f", rate), "-duration", trialTime.String(),
		"-header=Content-Type: application/json", "-header=Idempotency-Key: hot/12345", "-body", body, "-name=test")
	attack.Stdin = strings.NewReader("POST " + address + "/v1/checkouts\n")
	hits := filepath.Join(t.TempDir(), "hits")
	out, err := os.Create(hits)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	attack.Stdout = out
	if err := attack.Run(); err != nil {
		t.Fatal(err)
	}
	text, err := exec.CommandContext(t.Context(), command, "report", "-type=json", hits).Output()
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Requests int           `json:"requests"`
		Duration time.Duration `json:"duration"`
		Wait     time.Duration `json:"wait"`
		Success  float64       `json:"success"`
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&report); err != nil {
		t.Fatal(err)
	}
	answered := float64(report.Requests) / (report.Duration + report.Wait).Seconds()
	kept := answered >= keptUp*rate && report.Success == 1
	used := attack.ProcessState.UserTime() + attack.ProcessState.SystemTime()
	cpu := used / time.Duration(report.Requests)
	return trial{answered, cpu, kept, fmt.Sprintf("%6.0f/s, kept up %-5v, sent %d of %.0f, CPU %v a hit",
		answered, kept, report.Requests, rate*trialTime.Seconds(), cpu)}
}
