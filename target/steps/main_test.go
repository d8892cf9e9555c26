package steps

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/hotsku/hotsku/target/stack/stacktest"
)

// freezerPart is the argument that makes this test binary a process that freezes itself, for so long as the next argument
// says, and prints what that came to.
const freezerPart = "part-freeze"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == freezerPart {
		if err := freezeMyself(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	stacktest.Main(m)
}

func freezeMyself(length string) (err error) {
	s := &Stall{Kind: FreezeReplica, Steps: []string{"commit"}, Probability: 1, Log: slog.New(slog.NewTextHandler(os.Stdout, nil))}
	if s.Length, err = time.ParseDuration(length); err != nil {
		return err
	}
	step := &Step{Name: "commit", Order: &Order{Key: "k/1", SKU: "hot"}}
	s.Before(step)
	t := s.Tally("hot")
	_, err = fmt.Printf("strikes %d, frozen %d ms, held %d ms\n", t.Strikes, t.Frozen.Milliseconds(), step.Stall.Milliseconds())
	return err
}
