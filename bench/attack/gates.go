package attack

import (
	"fmt"
	"time"

	"github.com/hotsku/hotsku/results"
)

// The limits of [Gates] where a scenario sets none.
const (
	DefaultSentShare = 0.999
	DefaultLagP99    = 5 * time.Millisecond
	DefaultCPU       = 0.7
)

// Gates returns the conditions that the generator must have met for its figures to speak of the target instead of
// itself: it sent what was planned, on time, without running out of sockets, and with processor time to spare. Zero
// limits take the defaults. What is not known does not pass.
func Gates(limits results.Gates, r Report) []results.Gate {
	share, lag, cpu := DefaultSentShare, DefaultLagP99, DefaultCPU
	if limits.SentShare > 0 {
		share = limits.SentShare
	}
	if limits.LagP99 > 0 {
		lag = limits.LagP99.D()
	}
	if limits.CPU > 0 {
		cpu = limits.CPU
	}
	a := r.Attack
	sent := float64(a.Sent) / float64(a.Planned) // NaN for an empty plan, which passes nothing
	measured := "unknown: no hit was sent"
	if a.Sent > 0 {
		measured = r.LagP99.Round(10 * time.Microsecond).String()
	}
	return []results.Gate{
		{
			Name: "sent share", Limit: fmt.Sprintf(">= %v", share),
			Measured: fmt.Sprintf("%.4f (%d of %d)", sent, a.Sent, a.Planned), Passed: sent >= share,
		},
		{Name: "lag p99", Limit: fmt.Sprintf("<= %v", lag), Measured: measured, Passed: a.Sent > 0 && r.LagP99 <= lag},
		{Name: "socket errors", Limit: "0", Measured: fmt.Sprint(a.SocketErrors), Passed: a.SocketErrors == 0},
		{
			Name: "generator CPU", Limit: fmt.Sprintf("<= %v of GOMAXPROCS", cpu),
			Measured: fmt.Sprintf("%.3f", a.CPU), Passed: a.CPU > 0 && a.CPU <= cpu,
		},
	}
}
