package attack

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// TestMeasureLag tells how late hits are sent at 1,000 a second, in five attacks of 10 s.
func TestMeasureLag(t *testing.T) {
	measuring(t)
	address := serverOf(t)
	var p99s []time.Duration
	for seed := range uint64(5) {
		c := config(t, 1, time.Second, address)
		c.Schedule = poissonSchedule(t, 1000, 10*time.Second, seed)
		report := run(t, c)
		lag := make([]time.Duration, len(report.Hits))
		for i, hit := range report.Hits {
			lag[i] = hit.Lag()
		}
		slices.Sort(lag)
		t.Logf("lag p50 %v, p90 %v, p99 %v, max %v; service p99 %v; CPU %.3f; burst %d",
			percentile(lag, 50), percentile(lag, 90), percentile(lag, 99), lag[len(lag)-1],
			p99(report.Hits, results.Service), report.Attack.CPU, report.Attack.Burst)
		p99s = append(p99s, report.LagP99)
	}
	slices.Sort(p99s)
	t.Logf("lag p99: best %v, median %v", p99s[0], p99s[len(p99s)/2])
}

// A trial at one rate: the rate of answers from time zero to the last, and whether that kept up with what was offered.
type trial struct {
	answered float64 // per second
	kept     bool
	note     string
}

const trialTime = 2 * time.Second

// keptUp is the share of the offered rate at which answers must come for a generator to have kept up.
const keptUp = 0.99

// TestMeasureRate climbs in steps of 7 % and tells how many answers a second this package and the vegeta command came to,
// each rung tried by both in turn, until neither has kept up four times in a row. The command's hits bear the same headers and body.
func TestMeasureRate(t *testing.T) {
	measuring(t)
	command := buildVegeta(t)
	address := serverOf(t)
	var best [2][]float64
	for range 3 {
		var highest [2]float64
		for rate, failures := 6000.0, 0; failures < 4; rate *= 1.07 {
			ours, theirs := ownTrial(t, address, rate), commandTrial(t, command, address, rate)
			t.Logf("%6.0f/s offered: %s | vegeta command: %s", rate, ours.note, theirs.note)
			failures++
			for i, one := range []trial{ours, theirs} {
				highest[i] = max(highest[i], one.answered)
				if one.kept {
					failures = 0
				}
			}
		}
		t.Logf("most answers per second: %.0f, vegeta command: %.0f, ratio %.3f", highest[0], highest[1], highest[0]/highest[1])
		best[0], best[1] = append(best[0], highest[0]), append(best[1], highest[1])
	}
	slices.Sort(best[0])
	slices.Sort(best[1])
	t.Logf("best %.0f and %.0f, ratio %.3f; median %.0f and %.0f, ratio %.3f",
		best[0][2], best[1][2], best[0][2]/best[1][2], best[0][1], best[1][1], best[0][1]/best[1][1])
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
	return trial{answered, kept, fmt.Sprintf("%6.0f/s, kept up %-5v, lag p99 %v, CPU %.2f, in flight %d, %s",
		answered, kept, report.LagP99, a.CPU, a.InFlight, strings.Join(failed, " "))}
}

func buildVegeta(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vegeta")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/tsenart/vegeta/v12").CombinedOutput(); err != nil {
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
	attack := exec.CommandContext(t.Context(), command, "attack", fmt.Sprintf("-rate=%.0f", rate), "-duration", trialTime.String(),
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
		Requests int                      `json:"requests"`
		Duration time.Duration            `json:"duration"`
		Wait     time.Duration            `json:"wait"`
		Latency  map[string]time.Duration `json:"latencies"`
		Success  float64                  `json:"success"`
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&report); err != nil {
		t.Fatal(err)
	}
	answered := float64(report.Requests) / (report.Duration + report.Wait).Seconds()
	kept := answered >= keptUp*rate && report.Success == 1
	return trial{answered, kept, fmt.Sprintf("%6.0f/s, kept up %-5v, sent %d of %.0f, p99 %v",
		answered, kept, report.Requests, rate*trialTime.Seconds(), report.Latency["99th"])}
}
