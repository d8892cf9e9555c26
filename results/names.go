package results

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// ErrName marks a label or a name that cannot be part of a folder's name or of a benchmark's.
var ErrName = errors.New("results: unusable name")

var (
	words    = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	folder   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)
	numbered = regexp.MustCompile(`-[0-9]+$`)
)

// maxName is the greatest length of a folder's name; file systems take 255.
const maxName = 200

// RunID returns the name of the folder of a run: its start in UTC to the second, and its label, which must have passed
// [CheckLabel]. Names sort by time.
func RunID(t time.Time, label string) string {
	return t.UTC().Format("2006-01-02T150405Z") + "-" + label
}

// CheckLabel returns an error that matches ErrName unless label is made of lower-case letters and digits in words
// joined by '-', 40 characters at most.
func CheckLabel(label string) error {
	if !words.MatchString(label) || len(label) > 40 {
		return fmt.Errorf("%w: label %q: use up to 40 characters of a-z and 0-9, in words joined by '-'", ErrName, label)
	}
	return nil
}

// TrialID returns the name of the folder of a trial: its number in the run, its cell, and which try it is if it repeats
// an invalid one.
func TrialID(number int, c Cell, attempt int) string {
	id := fmt.Sprintf("%03d-%s-%s-b%d", number, c.Scenario, c.Strategy, c.Block)
	if attempt > 1 {
		id += fmt.Sprintf("-try%d", attempt)
	}
	return id
}

func checkFolder(name string) error {
	if !folder.MatchString(name) || len(name) > maxName {
		return fmt.Errorf("%w: folder %q: use up to %d characters of a-z, A-Z, 0-9 and '-'", ErrName, name, maxName)
	}
	return nil
}

// checkCell refuses names that a benchmark's name cannot carry. Tools read a number at the end of it as GOMAXPROCS, and
// the strategy comes last.
func checkCell(scenario, strategy string) error {
	for _, name := range []string{scenario, strategy} {
		if !words.MatchString(name) {
			return fmt.Errorf("%w: %q: use a-z and 0-9, in words joined by '-'", ErrName, name)
		}
	}
	if numbered.MatchString(strategy) {
		return fmt.Errorf("%w: strategy %q: a name may not end in a number", ErrName, strategy)
	}
	return nil
}
