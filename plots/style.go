package plots

import (
	"hash/fnv"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// The inks of everything that is no data.
var (
	black = rgb(0x1A1A1A) // text and axes
	grey  = rgb(0x595959) // secondary text: 7:1 on white
	faint = rgb(0xBDBDBD) // context lines, leaders
	hair  = rgb(0xE4E4E4) // grid
	mist  = rgb(0xF4F4F4) // empty panels, the zero band
	alarm = rgb(0xB00020) // beyond the stock, and nothing else
	white = rgb(0xFFFFFF)
)

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xFF}
}

// tint thins a colour out, as a tenth of it does for a filled band.
func tint(c color.NRGBA, share float64) color.NRGBA {
	c.A = uint8(math.Round(255 * share))
	return c
}

// A look is how a strategy is drawn, alike in all figures of a run: by colour and by marker, so that either
// alone tells it apart in a small figure, in grey print and for the colour-blind. Dashes are left to the figures, where
// they tell one kind of time from another.
type look struct {
	color  color.NRGBA
	marker draw.GlyphDrawer
}

// The colours: cool for strategies that claim to be safe, warm for controls that do not. All stand 3:1 against white
// paper. The first two of each family, which most runs make do with, differ by 25 or more in CIELAB also to the
// colour-blind, as Machado, Oliveira and Fernandes model them (IEEE TVCG 15, 2009), and so do any two strategies of the
// catalogue that share a marker.
var (
	cool = []color.NRGBA{rgb(0x00468B), rgb(0x1CA078), rgb(0x7A3FD0), rgb(0x2F8FB8)}
	warm = []color.NRGBA{rgb(0xCC4C00), rgb(0x6B0F3A), rgb(0xC08A00), rgb(0x563810)}
)

// The names that have a look of their own in every run. Any other name gets one by its hash, and moves on to the
// next where that one is taken.
var (
	firstCool = []string{"db-conditional", "lock-fence", "for-update", "optimistic", "lock-conditional",
		"lock-fence-register", "queue", "redis-reserve", "advisory-lock", "fair-lock-fence", "serializable", "skip-locked",
		"batch", "buckets"}
	firstWarm = []string{"none", "lock-only", "redis-counter", "lock-renewed", "redlock", "process-mutex",
		"none-decrement", "lock-plain-del", "lock-after-snapshot", "lock-before-commit", "lock-fence-write"}
)

// looks gives every strategy its look.
func looks(strategies []results.Strategy) map[string]look {
	all := make(map[string]look, len(strategies))
	for _, f := range []family{{true, cool, firstCool, 0}, {false, warm, firstWarm, 2}} {
		f.dress(strategies, all)
	}
	return all
}

// A family is the strategies of one claim, and what they may look like.
type family struct {
	safe   bool
	colors []color.NRGBA
	first  []string // the names with a slot of their own
	offset int      // of the markers, so that the families differ in them, too
}

// look is what slot number n looks like. All slots below colors × shapes differ.
func (f family) look(n int) look {
	return look{f.colors[n%len(f.colors)], shapes[(n+n/len(shapes)+f.offset)%len(shapes)]}
}

// dress adds the looks of the family's members to all.
func (f family) dress(strategies []results.Strategy, all map[string]look) {
	taken := map[int]bool{}
	var strangers []string
	for _, s := range strategies {
		if s.Safe != f.safe {
			continue
		}
		slot := slices.Index(f.first, s.Name)
		if slot < 0 {
			strangers = append(strangers, s.Name)
			continue
		}
		taken[slot], all[s.Name] = true, f.look(slot)
	}
	slices.Sort(strangers)
	slots := len(f.colors) * len(shapes)
	for _, name := range strangers {
		slot := hash(name) % slots
		for n := 0; taken[slot] && n < slots; n++ {
			slot = (slot + 1) % slots
		}
		taken[slot], all[name] = true, f.look(slot)
	}
}

func hash(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name)) // never fails
	return int(h.Sum32() >> 1)
}

// glyph returns the marker of l at radius r.
func (l look) glyph(r vg.Length) draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.color, Radius: r, Shape: l.marker}
}

// Unsent counts as an outcome in figures: an order that the generator should have sent and did not.
const unsent = api.Outcome(255)

// outcomeInk returns what an outcome is drawn in. What is meant to happen is grey; colour is for trouble.
func outcomeInk(o api.Outcome) color.NRGBA {
	switch o {
	case api.Sold:
		return rgb(0x4F6272)
	case api.Replayed:
		return rgb(0x8FA3B2)
	case api.SoldOut:
		return rgb(0xD3DADF)
	case api.Contended:
		return rgb(0xE69F00)
	case api.Fenced:
		return rgb(0x8E5BA8)
	case api.Unavailable:
		return rgb(0x56B4E9)
	case api.Unknown:
		return rgb(0xD55E00)
	case unsent:
		return rgb(0x000000)
	}
	return rgb(0xF0A6C8) // invalid
}

func outcomeName(o api.Outcome) string {
	if o == unsent {
		return "unsent"
	}
	return o.String()
}

// stacking is the order of the outcomes in a stack, from the bottom.
var stacking = []api.Outcome{api.Sold, api.Replayed, api.SoldOut, api.Contended, api.Fenced, api.Unavailable,
	api.Invalid, api.Unknown, unsent}
