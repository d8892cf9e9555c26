package audit

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// The cross-check compares the audit with a general linearizability checker on small histories. The model knows nothing
// of the audit's rules: it is a counter that sells or refuses, which remembers the position of every order, and a
// ledger that is read in the end and must show precisely what was sold. So porcupine itself finds out what became of
// the unknown outcomes.

// maxOps bounds the orders of a history.
const maxOps = 8

// counter is the state of the model: the units sold, and by order its position + 1, or 0 for an order not sold.
type counter struct {
	sold   int64
	places [maxOps]int64
}

// sell returns the state after order i took q units, at the position that the counter gives.
func (c counter) sell(i int, q int64, positioned bool) counter {
	c.sold += q
	c.places[i] = 1
	if positioned {
		c.places[i] = c.sold + 1
	}
	return c
}

// An attempt is the input of the model: an order, with what its client was told.
type attempt struct {
	order    int
	quantity int64
	outcome  api.Outcome
	position int64 // as acknowledged
}

// A reading is the last input of the model: the ledger at rest.
type reading struct {
	places  [maxOps]int64
	strange bool // it has a row that no sequence of sales can explain
}

// model is a stock of so many units, sold with positions or without.
func model(stock int64, positioned bool) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{counter{}} },
		Step: func(state, input, _ any) []any {
			c := state.(counter)
			if r, ok := input.(reading); ok {
				if r.strange || r.places != c.places {
					return nil
				}
				return []any{c}
			}
			a := input.(attempt)
			fits := stock-c.sold >= a.quantity
			sold := c.sell(a.order, a.quantity, positioned)
			switch {
			case a.outcome == api.SoldOut && !fits, a.outcome == api.Contended:
				return []any{c}
			case a.outcome == api.Sold && fits && a.position == sold.places[a.order]-1:
				return []any{sold}
			case a.outcome == api.Unknown && fits:
				return []any{c, sold}
			case a.outcome == api.Unknown:
				return []any{c}
			}
			return nil
		},
	}
	return m.ToModel()
}

// linearizable asks porcupine about the hits, of which it leaves out those that skip names.
func linearizable(c Case, skip func(results.Hit) bool) bool {
	positioned := slices.ContainsFunc(c.Ledger, func(o api.Order) bool { return o.Position != 0 })
	const late = int64(1 << 40)
	var operations []porcupine.Operation
	for _, h := range c.Hits {
		if skip(h) {
			continue
		}
		op := porcupine.Operation{Call: int64(h.Sent), Return: int64(h.End), Input: attempt{
			order: int(h.Seq), quantity: int64(h.Quantity), outcome: h.Outcome, position: h.Position,
		}}
		if h.Outcome == api.Unknown {
			op.Return = late + 2
		}
		operations = append(operations, op)
	}
	operations = append(operations, porcupine.Operation{Input: read(c, positioned), Call: late, Return: late + 1})
	return porcupine.CheckOperations(model(c.Stock, positioned), operations)
}

// read puts the ledger into the form that the model remembers.
func read(c Case, positioned bool) reading {
	var r reading
	asked := map[uint64]results.Hit{}
	for _, h := range c.Hits {
		asked[h.Seq] = h
	}
	for _, o := range c.Ledger {
		seq, ok := parseKey(c.KeyPrefix, o.Key)
		h, known := asked[seq]
		if !ok || !known || int(h.Quantity) != o.Quantity || h.Outcome == api.Sold && h.Order != o.ID || r.places[seq] != 0 {
			r.strange = true
			continue
		}
		r.places[seq] = 1
		if positioned {
			r.places[seq] = o.Position + 1
		}
	}
	return r
}

// sequential names the invariants that together mean that the sales can have happened one after another.
var sequential = []results.Invariant{
	results.Oversold, results.LostUpdate, results.RealTimeOrder, results.FalseSoldOut,
	results.DuplicateOrder, results.LostOrder, results.PhantomOrder,
}

func TestAuditAgreesWithPorcupine(t *testing.T) {
	rounds := 100_000
	if testing.Short() || raceDetector { // which has nothing to find here, and makes it take five times as long
		rounds = 5_000
	}
	rng := rand.New(rand.NewPCG(20, 26))
	legal, blamed := 0, map[results.Invariant]int{}
	for round := range rounds {
		c := smallHistory(rng)
		a, anomalies := Audit(c)
		var found []results.Invariant
		for _, i := range sequential {
			if checkOf(a, i).State == results.Violated {
				found = append(found, i)
				blamed[i]++
			}
		}
		want := linearizable(c, func(results.Hit) bool { return false })
		if want {
			legal++
		}
		if got := len(found) == 0; got != want {
			t.Fatalf("round %d: porcupine says linearizable = %v, the audit %v, it found %q broken:\n%s",
				round, want, got, found, describe(c))
		}
		if len(found) == 0 || slices.Equal(found, []results.Invariant{results.FalseSoldOut}) {
			requireBlame(t, c, anomalies)
		}
	}
	t.Logf("%d histories, of which %d linearizable; broken: %v", rounds, legal, blamed)
	if legal < rounds/10 || legal > rounds*9/10 {
		t.Errorf("%d of %d histories are linearizable: they are no test", legal, rounds)
	}
	for _, i := range sequential {
		if blamed[i] < rounds/200 {
			t.Errorf("%s was broken in %d of %d histories only", i, blamed[i], rounds)
		}
	}
}

// requireBlame demands that precisely those sold-out answers are called false that porcupine calls so, each alone with
// the sales.
func requireBlame(t *testing.T, c Case, anomalies []results.Anomaly) {
	t.Helper()
	for _, x := range c.Hits {
		if x.Outcome != api.SoldOut {
			continue
		}
		falsely := slices.ContainsFunc(anomalies, func(a results.Anomaly) bool {
			return a.Invariant == results.FalseSoldOut && a.Orders[0].Key == fmt.Sprint(prefix, x.Seq)
		})
		truly := linearizable(c, func(h results.Hit) bool { return h.Outcome == api.SoldOut && h.Seq != x.Seq })
		if falsely == truly {
			t.Fatalf("porcupine says that the sold-out answer to %d is true = %v, the audit false = %v:\n%s",
				x.Seq, truly, falsely, describe(c))
		}
	}
}

// smallHistory returns 2 to 8 orders that a counter sold, with up to three things wrong.
func smallHistory(rng *rand.Rand) Case {
	c := Case{Stock: rng.Int64N(6), KeyPrefix: prefix, Zero: zero, Replicas: []string{"replica-a"}}
	units, positioned := 1+rng.IntN(2), rng.IntN(3) > 0
	n := 2 + rng.IntN(maxOps-1)
	horizon := 2 + rng.IntN(30)
	moments := make([]int, n)
	for i := range moments {
		moments[i] = rng.IntN(horizon)
	}
	slices.Sort(moments)
	var sold int64
	for seq, moment := range moments {
		h := results.Hit{
			Seq: uint64(seq), Quantity: int32(1 + rng.IntN(units)),
			Sent: time.Duration(moment - rng.IntN(12)), End: time.Duration(moment + rng.IntN(6)),
		}
		dice := rng.IntN(10)
		switch fits := c.Stock-sold >= int64(h.Quantity); {
		case dice == 0:
			h.Outcome = []api.Outcome{api.Contended, api.Unknown}[rng.IntN(2)]
		case !fits:
			h.Outcome = api.SoldOut
		default:
			sold += int64(h.Quantity)
			o := api.Order{ID: int64(100 + seq), Key: fmt.Sprint(prefix, seq), Quantity: int(h.Quantity)}
			if positioned {
				o.Position = sold
			}
			c.Ledger = append(c.Ledger, o)
			if dice > 1 {
				h.Outcome, h.Order, h.Position = api.Sold, o.ID, o.Position
			}
		}
		c.Hits = append(c.Hits, h)
	}
	for range rng.IntN(4) {
		mutate(rng, &c)
	}
	return c
}

// mutate does one thing to a history that may or may not break it.
func mutate(rng *rand.Rand, c *Case) {
	if len(c.Hits) == 0 || len(c.Ledger) == 0 {
		return
	}
	hit, row := &c.Hits[rng.IntN(len(c.Hits))], rng.IntN(len(c.Ledger))
	switch rng.IntN(14) {
	case 0: // a row is lost
		c.Ledger = slices.Delete(c.Ledger, row, row+1)
	case 1: // a hit is lost
		i := rng.IntN(len(c.Hits))
		c.Hits = slices.Delete(c.Hits, i, i+1)
	case 2: // a row is there twice
		o := c.Ledger[row]
		o.ID += 50
		c.Ledger = append(c.Ledger, o)
	case 3, 4: // two rows change places, and the clients are told
		a, b := &c.Ledger[row], &c.Ledger[rng.IntN(len(c.Ledger))]
		a.Position, b.Position = b.Position, a.Position
		c.inform(a)
		c.inform(b)
	case 5, 6, 7: // a hit moves
		by := time.Duration(rng.IntN(41) - 20)
		hit.Sent, hit.End = hit.Sent+by, hit.End+by
	case 8: // an answer comes earlier or later
		hit.End = max(hit.Sent, hit.End+time.Duration(rng.IntN(21)-10))
	case 9: // another answer
		hit.Outcome = []api.Outcome{api.SoldOut, api.Unknown, api.Contended, api.Sold}[rng.IntN(4)]
		hit.Order = int64(100 + hit.Seq)
	case 10: // another position
		c.Ledger[row].Position = rng.Int64N(8)
		c.inform(&c.Ledger[row])
	case 11: // another position, and the client is not told
		c.Ledger[row].Position = rng.Int64N(8)
	case 12: // another quantity
		c.Ledger[row].Quantity = 1 + rng.IntN(2)
	case 13: // less stock
		c.Stock = max(0, c.Stock-1)
	}
}

// inform tells the client of a row its position.
func (c *Case) inform(o *api.Order) {
	for i := range c.Hits {
		h := &c.Hits[i]
		if h.Outcome.Acknowledged() && fmt.Sprint(prefix, h.Seq) == o.Key {
			h.Position = o.Position
		}
	}
}

// describe prints a history so that it can be read.
func describe(c Case) string {
	var b strings.Builder
	fmt.Fprintf(&b, "stock %d\n", c.Stock)
	for _, h := range c.Hits {
		fmt.Fprintf(&b, "  hit %d [%d, %d] asked for %d: %v, position %d\n",
			h.Seq, h.Sent, h.End, h.Quantity, h.Outcome, h.Position)
	}
	slices.SortFunc(c.Ledger, func(a, b api.Order) int { return cmp.Compare(a.Position, b.Position) })
	for _, o := range c.Ledger {
		fmt.Fprintf(&b, "  row %s position %d quantity %d\n", o.Key, o.Position, o.Quantity)
	}
	return b.String()
}
