package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"testing"

	"github.com/hotsku/hotsku/results"
)

// catalogue is n strategies of either claim.
func catalogue(n int) []results.Strategy {
	var all []results.Strategy
	for _, b := range many(n) {
		all = append(all, b.Strategy)
	}
	return all
}

func TestNoTwoStrategiesLookAlike(t *testing.T) {
	seen := map[string]string{}
	for name, l := range looks(catalogue(25)) {
		id := fmt.Sprint(l.color, l.marker)
		if other, ok := seen[id]; ok {
			t.Errorf("%s looks like %s", name, other)
		}
		seen[id] = name
	}
	if len(seen) != 25 {
		t.Errorf("%d looks for 25 strategies", len(seen))
	}
}

func TestAStrategyLooksTheSameInWhateverCompanyAndOrder(t *testing.T) {
	all := catalogue(25)
	alone := looks(all[3:4])
	together := looks(all)
	slices.Reverse(all)
	reversed := looks(all)
	for name, l := range together {
		if fmt.Sprint(l) != fmt.Sprint(reversed[name]) {
			t.Errorf("%s depends on the order", name)
		}
	}
	for name, l := range alone {
		if fmt.Sprint(l) != fmt.Sprint(together[name]) {
			t.Errorf("%s, of the catalogue, depends on its company", name)
		}
	}
}

// The sights under which colours are told apart: the colour-blind ones after Machado, Oliveira and Fernandes (2009), at full
// severity.
var sights = map[string][3][3]float64{
	"normal":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"deuteranopia": {{.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.011820, .042940, .968881}},
	"protanopia":   {{.152286, 1.052583, -.204868}, {.114503, .786281, .099216}, {-.003882, -.048116, 1.051998}},
	"tritanopia":   {{1.255528, -.076749, -.178779}, {-.078411, .930809, .147602}, {.004733, .691367, .303900}},
}

// The whole catalogue may stand in one figure: where two strategies share a marker, their colours are far apart.
func TestTheCatalogueCanBeToldApart(t *testing.T) {
	var all []results.Strategy
	for _, name := range firstCool {
		all = append(all, results.Strategy{Name: name, Safe: true})
	}
	for _, name := range firstWarm {
		all = append(all, results.Strategy{Name: name})
	}
	style := looks(all)
	if len(all) != 25 || len(style) != 25 {
		t.Fatalf("%d strategies have %d names, want 25", len(all), len(style))
	}
	for i, a := range all {
		for _, b := range all[:i] {
			one, other := style[a.Name], style[b.Name]
			if fmt.Sprint(one.marker) != fmt.Sprint(other.marker) {
				continue
			}
			for sight, m := range sights {
				if d := distance(lab(seen(m, linear(one.color))), lab(seen(m, linear(other.color)))); d < 25 {
					t.Errorf("%s: %s and %s share a marker, and their colours are only %.0f apart", sight, a.Name, b.Name, d)
				}
			}
		}
	}
}

func TestColoursStandOutFromPaperAndFromEachOther(t *testing.T) {
	for _, c := range append(slices.Clone(cool), warm...) {
		r := linear(c)
		if contrast := 1.05 / (.2126*r[0] + .7152*r[1] + .0722*r[2] + .05); contrast < 3 {
			t.Errorf("%v has a contrast of %.2f to white", c, contrast)
		}
	}
	leading := append(slices.Clone(cool[:2]), warm[:2]...)
	for sight, m := range sights {
		for i, a := range leading {
			for _, b := range leading[:i] {
				if d := distance(lab(seen(m, linear(a))), lab(seen(m, linear(b)))); d < 25 {
					t.Errorf("%s: %v and %v are %.0f apart", sight, a, b, d)
				}
			}
		}
	}
}

func linear(c color.NRGBA) [3]float64 {
	var out [3]float64
	for i, v := range []uint8{c.R, c.G, c.B} {
		x := float64(v) / 255
		if out[i] = x / 12.92; x > .04045 {
			out[i] = math.Pow((x+.055)/1.055, 2.4)
		}
	}
	return out
}

func seen(m [3][3]float64, c [3]float64) [3]float64 {
	var out [3]float64
	for i := range out {
		out[i] = min(max(m[i][0]*c[0]+m[i][1]*c[1]+m[i][2]*c[2], 0), 1)
	}
	return out
}

// lab converts linear sRGB to CIELAB under D65.
func lab(c [3]float64) [3]float64 {
	f := func(t float64) float64 {
		if t > .008856 {
			return math.Cbrt(t)
		}
		return 7.787*t + 16./116
	}
	x := f((.4124*c[0] + .3576*c[1] + .1805*c[2]) / .95047)
	y := f(.2126*c[0] + .7152*c[1] + .0722*c[2])
	z := f((.0193*c[0] + .1192*c[1] + .9505*c[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func distance(a, b [3]float64) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}
