package results

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRunID(t *testing.T) {
	at := time.Date(2026, 1, 2, 5, 4, 5, 999_999_999, time.FixedZone("", 2*3600))
	if got, want := RunID(at, "first-try"), "2026-01-02T030405Z-first-try"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTrialID(t *testing.T) {
	c := Cell{Block: 2, Scenario: "calm", Strategy: "lock-only"}
	for attempt, want := range map[int]string{1: "007-calm-lock-only-b2", 3: "007-calm-lock-only-b2-try3"} {
		if got := TrialID(7, c, attempt); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCheckLabel(t *testing.T) {
	for label, usable := range map[string]bool{
		"quick": true, "a-b-2": true, "2": true, strings.Repeat("x", 40): true, strings.Repeat("x", 41): false,
		"": false, "-": false, "-a": false, "a-": false, "a--b": false, "Quick": false, "a b": false, "a/b": false,
		"..": false, "a\n": false, "é": false,
	} {
		if err := CheckLabel(label); (err == nil) != usable || (err != nil && !errors.Is(err, ErrName)) {
			t.Errorf("%q: %v, usable is %v", label, err, usable)
		}
	}
}
