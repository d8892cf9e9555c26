package audit

import (
	"fmt"
	"strings"

	"github.com/hotsku/hotsku/results"
)

// rightful returns the sale that key k was acknowledged with, figure for figure, or none.
func (t *trial) rightful(k int32) int32 {
	for s := t.keys[k].sale; s != none; s = t.sales[s].next {
		for _, i := range t.tries(k) {
			h := &t.Hits[i]
			if h.Outcome.Acknowledged() && len(t.differences(s, h)) == 0 {
				return s
			}
		}
	}
	return none
}

// differences names the figures in which an acknowledgement differs from a sale.
func (t *trial) differences(s int32, h *results.Hit) []string {
	o := t.orderOf(s)
	if o.ID == h.Order && o.Position == h.Position && o.Fence == h.Fence && o.Quantity == int(h.Quantity) {
		return nil
	}
	var names []string
	for _, figure := range []struct {
		name         string
		told, ledger int64
	}{
		{"id", h.Order, o.ID},
		{"position", h.Position, o.Position},
		{"quantity", int64(h.Quantity), int64(o.Quantity)},
		{"fence", h.Fence, o.Fence},
	} {
		if figure.told != figure.ledger {
			names = append(names, fmt.Sprintf("%s %d (the ledger has %d)", figure.name, figure.told, figure.ledger))
		}
	}
	return names
}

// checkDuplicateOrder counts the orders beyond the first of each key.
func checkDuplicateOrder(t *trial) result {
	var findings []finding
	for k := range t.keys {
		first := t.keys[k].sale
		if first == none || t.sales[first].next == none {
			continue
		}
		if s := t.rightful(int32(k)); s != none {
			first = s
		}
		for s := t.keys[k].sale; s != none; s = t.sales[s].next {
			if s != first {
				findings = append(findings, finding{at: t.when(s), who: s, other: first})
			}
		}
	}
	findings = append(findings, t.foreignDuplicates()...)
	return judge(findings, "", func(f finding) results.Anomaly {
		return results.Anomaly{
			Detail: fmt.Sprintf("Key %s has order %d besides order %d.",
				t.orderOf(f.who).Key, t.orderOf(f.who).ID, t.orderOf(f.other).ID),
			Units:  t.sales[f.who].quantity,
			Orders: []results.Witness{t.witnessSale(f.other), t.witnessSale(f.who)},
		}
	})
}

// foreignDuplicates finds the orders beyond the first of each key that nobody asked for.
func (t *trial) foreignDuplicates() []finding {
	var findings []finding
	first := none
	for _, s := range t.foreign {
		if first != none && t.orderOf(first).Key == t.orderOf(s).Key {
			findings = append(findings, finding{at: t.when(s), who: s, other: first})
			continue
		}
		first = s
	}
	return findings
}

// checkLostOrder counts the orders that were acknowledged and are not in the ledger as they were acknowledged: each
// try's figures must be those of a sale of its key. An order that was neither acknowledged nor refused must at least
// be there with the quantity that was asked for.
func checkLostOrder(t *trial) result {
	var findings []finding
	for k := range t.keys {
		if i := t.lost(int32(k)); i != none {
			findings = append(findings, finding{at: t.keys[k].sent, who: int32(k), other: i})
		}
	}
	return judge(findings, "", func(f finding) results.Anomaly {
		h := &t.Hits[f.other]
		a := results.Anomaly{Units: int64(h.Quantity), Orders: []results.Witness{t.witnessHit(f.other)}}
		s := t.keys[f.who].sale
		if s == none {
			a.Detail = fmt.Sprintf("Order %s was acknowledged as order %d, but is not in the ledger.",
				t.keyName(h.Seq), h.Order)
			return a
		}
		a.Orders = append(a.Orders, t.witnessSale(s))
		if h.Outcome.Acknowledged() {
			a.Detail = fmt.Sprintf("Order %s was acknowledged with %s.",
				t.keyName(h.Seq), strings.Join(t.differences(s, h), ", "))
		} else {
			a.Detail = fmt.Sprintf("Order %s asked for %s, but the ledger has %d.",
				t.keyName(h.Seq), count(int64(h.Quantity), "unit"), t.sales[s].quantity)
		}
		return a
	})
}

// lost returns the first try of key k that the ledger does not bear out, or none.
func (t *trial) lost(k int32) int32 {
	for _, i := range t.tries(k) {
		h := &t.Hits[i]
		if h.Outcome.Refused() || !h.Outcome.Acknowledged() && t.keys[k].sale == none {
			continue
		}
		borne := false
		for s := t.keys[k].sale; s != none && !borne; s = t.sales[s].next {
			if h.Outcome.Acknowledged() {
				borne = len(t.differences(s, h)) == 0
			} else {
				borne = t.sales[s].quantity == int64(h.Quantity)
			}
		}
		if !borne {
			return i
		}
	}
	return none
}

// checkPhantomOrder counts the orders in the ledger whose client was surely refused at every try, and those that nobody
// asked for.
func checkPhantomOrder(t *trial) result {
	var findings []finding
	for s := range t.sales {
		if k := t.sales[s].key; k == none || t.refused(k) {
			findings = append(findings, finding{at: t.when(int32(s)), who: int32(s), other: none})
		}
	}
	return judge(findings, "", func(f finding) results.Anomaly {
		w := t.witnessSale(f.who)
		a := results.Anomaly{Units: t.sales[f.who].quantity, Orders: []results.Witness{w}}
		if t.sales[f.who].key == none {
			a.Detail = fmt.Sprintf("Order %d with key %q is in the ledger, but nobody asked for it.", w.Order, w.Key)
		} else {
			a.Detail = fmt.Sprintf("Order %s was refused (%s), but is in the ledger as order %d.", w.Key, w.Outcome, w.Order)
		}
		return a
	})
}

// refused reports whether every try of key k was surely refused.
func (t *trial) refused(k int32) bool {
	for _, i := range t.tries(k) {
		if !t.Hits[i].Outcome.Refused() {
			return false
		}
	}
	return true
}
