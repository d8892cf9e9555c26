package plots

import (
	"os"
	"testing"

	"github.com/hotsku/hotsku/results"
)

func TestLook(t *testing.T) {
	dir := os.Getenv("LOOK")
	if dir == "" {
		t.Skip()
	}
	os.MkdirAll(dir, 0o755)
	f := fabricate(t, 7, 3, 1500, behaviours).withAnomalies().discard(func(t results.Trial) bool { return t.Cell.Strategy == "lock-only" && t.Cell.Scenario == "calm" })
	f.run.Exploratory = true
	if _, err := drawInto(t.Context(), dir, f, nil); err != nil {
		t.Fatal(err)
	}
}
