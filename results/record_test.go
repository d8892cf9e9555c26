package results

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzRunRecord holds that a run's record that can be read can be written, and reads back equal.
func FuzzRunRecord(f *testing.F) {
	trial, _ := fabricate(1, 50)
	for _, record := range []any{fabricatedRun(trial), Run{}, Run{Plan: Plan{Scenarios: []Scenario{{Stall: &Stall{}}}}}} {
		text, err := json.Marshal(record)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var run Run
		if json.Unmarshal(text, &run) != nil {
			return
		}
		first, err := json.Marshal(run)
		if err != nil {
			if run.Started.Year() > 9999 || run.Ended.Year() > 9999 {
				return
			}
			t.Fatal(err)
		}
		var again Run
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatal(err)
		}
		second, err := json.Marshal(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("\n%s\n%s\n%v", first, second, err)
		}
	})
}
