package strategies

import (
	"context"
	"slices"
	"testing"
)

// leads reports whether it is the order's turn.
func leads(p *place) bool {
	select {
	case <-p.turn:
		return true
	default:
		return false
	}
}

func TestTheLeadGoesToTheOneWhoHasWaitedLongestAndIsStillThere(t *testing.T) {
	l := newLines()
	ctx, leave := context.WithCancel(t.Context())
	a, b := l.join(t.Context(), Order{Key: "a"}), l.join(ctx, Order{Key: "b"})
	c, d := l.join(t.Context(), Order{Key: "c"}), l.join(t.Context(), Order{Key: "d"})
	leave()
	l.pass(a)
	if !leads(a) || leads(b) || !leads(c) || leads(d) {
		t.Errorf("of a to d it is the turn of %v, %v, %v, %v; want a and c", leads(a), leads(b), leads(c), leads(d))
	}
	l.pass(a)
	if leads(d) {
		t.Error("an order that did not lead any more passed the lead on")
	}
	l.pass(c)
	l.pass(d)
	if !leads(d) || len(l.bySKU) != 0 {
		t.Errorf("d leads: %v; %d lines are left, want none", leads(d), len(l.bySKU))
	}
}

func TestALeadThatComesToAnOrderWhichLeavesGoesToTheNext(t *testing.T) {
	l := newLines()
	ctx, leave := context.WithCancel(t.Context())
	a, b, c := l.join(t.Context(), Order{Key: "a"}), l.join(ctx, Order{Key: "b"}), l.join(t.Context(), Order{Key: "c"})
	l.pass(a)
	leave()
	if !l.leave(b) || !leads(c) {
		t.Errorf("b could not leave, or c does not lead: %v", leads(c))
	}
}

func TestAGroupIsThoseWhoAreThereInOrderOfArrivalOneOfEachKey(t *testing.T) {
	l := newLines()
	ctx, leave := context.WithCancel(t.Context())
	join := func(ctx context.Context, key string) *place { return l.join(ctx, Order{Key: key}) }
	a, b, gone, again := join(t.Context(), "a"), join(t.Context(), "b"), join(ctx, "c"), join(t.Context(), "b")
	d, e := join(t.Context(), "d"), join(t.Context(), "e")
	leave()
	if got := l.cut(a, 3); !slices.Equal(got, group{a, b, d}) {
		t.Errorf("the group is %v, want a, b and d", got.orders())
	}
	if !l.leave(gone) || l.leave(b) {
		t.Error("who was left out must be able to leave, and who was taken along must not")
	}
	l.pass(a)
	if got := l.cut(again, 3); !slices.Equal(got, group{again, e}) {
		t.Errorf("the next group is %v, want the second b and e", got.orders())
	}
}
