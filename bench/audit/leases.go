package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// The steps that bound a critical section. See [api.Step].
const (
	stepAcquire = "acquire"
	stepRelease = "release"
	stepRenew   = "renew"
	stepCommit  = "commit"
)

// A section is one stay of an order in the critical section that a lease is meant to guard, at one replica. Its times
// are wall clock, in nanoseconds.
type section struct {
	order, replica string
	// The lease was believed in from granted to left. The database was at work from first to committed, which is 0
	// where no COMMIT succeeded.
	granted, left, first, committed int64
	entered                         bool // a database step followed the grant
}

// readSections reads the critical sections from the steps. A section begins with the last lease that was granted before
// the order's next database step at that replica: a lease on several servers is granted in parts, and one that was
// given back before any use entered nothing. It is left when the holder sends the release or is told that a renewal
// was refused; failing both, with its last step.
func (t *trial) readSections() []section {
	turn := make([]int32, len(t.Steps))
	for i := range turn {
		turn[i] = int32(i)
	}
	compare := func(a, b int32) int { return compareSteps(&t.Steps[a], &t.Steps[b]) }
	if !slices.IsSortedFunc(turn, compare) {
		slices.SortFunc(turn, compare)
	}
	var sections []section
	for from := 0; from < len(turn); {
		first, to := &t.Steps[turn[from]], from+1
		for to < len(turn) && t.Steps[turn[to]].Order == first.Order && t.Steps[turn[to]].Replica == first.Replica {
			to++
		}
		sections = t.appendSections(sections, turn[from:to])
		from = to
	}
	return sections
}

// compareSteps orders steps by order, replica and time.
func compareSteps(a, b *api.Step) int {
	if c := strings.Compare(a.Order, b.Order); c != 0 {
		return c
	}
	if c := strings.Compare(a.Replica, b.Replica); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), strings.Compare(a.Name, b.Name))
}

// appendSections appends the sections in the steps of one order at one replica.
func (t *trial) appendSections(sections []section, steps []int32) []section {
	var s section
	open := false // a lease is held, or its database work goes on
	finish := func(last int64) {
		if open && s.entered {
			if s.left == 0 {
				s.left = last
			}
			sections = append(sections, s)
		}
		open = false
	}
	last := int64(0)
	for _, i := range steps {
		step := &t.Steps[i]
		switch {
		case step.Name == stepAcquire && !step.Refused && step.Error == "":
			if s.entered {
				finish(last)
			}
			s = section{order: step.Order, replica: step.Replica, granted: step.End}
			open = true
		case !open:
		case step.Store == api.Database:
			if !s.entered && s.left == 0 {
				s.entered, s.first = true, step.Start
			}
			if step.Name == stepCommit && step.Error == "" && s.committed == 0 {
				s.committed = step.End
			}
		case step.Name == stepRelease && s.left == 0:
			s.left = step.Start
		case step.Name == stepRenew && step.Refused && s.left == 0:
			s.left = step.End
		}
		last = max(last, step.End)
	}
	finish(last)
	return sections
}

// An interval is the time that a section was open, by one of the two meanings.
type interval struct {
	from, to int64
	section  int32
}

// collide finds the intervals that begin while another is open. Of all that are open it names the one that stays open
// longest.
func (t *trial) collide(intervals []interval) []finding {
	slices.SortFunc(intervals, func(a, b interval) int {
		if c := cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)); c != 0 {
			return c
		}
		x, y := &t.sections[a.section], &t.sections[b.section]
		return cmp.Or(strings.Compare(x.order, y.order), strings.Compare(x.replica, y.replica))
	})
	zero := t.Zero.UnixNano()
	var findings []finding
	holder := none
	for i, v := range intervals {
		if holder != none && v.from < intervals[holder].to {
			at := time.Duration(v.from - zero)
			findings = append(findings, finding{at: at, who: int32(i), other: holder})
		}
		if holder == none || v.to > intervals[holder].to {
			holder = int32(i)
		}
	}
	return findings
}

// checkBelievedOverlap counts the critical sections that were entered while another holder believed in its lease: from
// the answer to its acquire until it sent the release. A lease cannot prevent that, so it is an observation.
func checkBelievedOverlap(t *trial) result {
	return t.checkOverlap("believed in its lease", func(s section) (from, to int64, ok bool) {
		return s.granted, s.left, s.left > s.granted
	})
}

// checkEffectiveOverlap counts the sections that overlap another in what they did: from the first database step after
// the grant to the answer of COMMIT, of orders that are in the ledger.
func checkEffectiveOverlap(t *trial) result {
	return t.checkOverlap("had begun and not committed", func(s section) (from, to int64, ok bool) {
		return s.first, s.committed, s.committed > s.first && t.inLedger(s.order)
	})
}

// checkOverlap checks that the sections are disjoint. bounds says between which moments a section was open.
func (t *trial) checkOverlap(doing string, bounds func(section) (from, to int64, ok bool)) result {
	r := t.overlap(doing, bounds)
	r.check.Observation = true
	return r
}

func (t *trial) overlap(doing string, bounds func(section) (from, to int64, ok bool)) result {
	if t.Steps == nil {
		return unchecked("the steps were not traced")
	}
	if len(t.sections) == 0 {
		return unchecked("no lease was acquired and used")
	}
	var intervals []interval
	for i, s := range t.sections {
		if from, to, ok := bounds(s); ok {
			intervals = append(intervals, interval{from: from, to: to, section: int32(i)})
		}
	}
	return judge(t.collide(intervals), "", func(f finding) results.Anomaly {
		in, holder := t.sections[intervals[f.who].section], t.sections[intervals[f.other].section]
		shared := min(intervals[f.who].to, intervals[f.other].to) - intervals[f.who].from
		return results.Anomaly{
			Detail: fmt.Sprintf("Order %s at %s entered %v after the start while order %s at %s %s; they shared %v.",
				in.order, in.replica, round(f.at), holder.order, holder.replica, doing, round(time.Duration(shared))),
			Orders: []results.Witness{t.witnessSection(holder), t.witnessSection(in)},
		}
	})
}

// witnessSection describes the order of a section at the section's replica.
func (t *trial) witnessSection(s section) results.Witness {
	w := t.witnessKey(s.order)
	w.Replica = s.replica
	return w
}

// inLedger reports whether the ledger has an order of that key.
func (t *trial) inLedger(name string) bool {
	if k := t.find(name); k != none {
		return t.keys[k].sale != none
	}
	_, found := slices.BinarySearchFunc(t.foreign, name, func(s int32, name string) int {
		return strings.Compare(t.orderOf(s).Key, name)
	})
	return found
}
