package plots

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The markers: filled shapes of like weight.
var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{},
	polygon{{-.85, -.85}, {.85, -.85}, {.85, .85}, {-.85, .85}}, // square
	polygon{{0, 1.15}, {1.05, -.75}, {-1.05, -.75}},             // triangle
	polygon{{0, 1.2}, {1.2, 0}, {0, -1.2}, {-1.2, 0}},           // diamond
	polygon{{0, -1.15}, {1.05, .75}, {-1.05, .75}},              // triangle upside down
	polygon{ // plus
		{-.35, -1.1}, {.35, -1.1}, {.35, -.35}, {1.1, -.35}, {1.1, .35}, {.35, .35},
		{.35, 1.1}, {-.35, 1.1}, {-.35, .35}, {-1.1, .35}, {-1.1, -.35}, {-.35, -.35},
	},
	polygon{{1.15, 0}, {-.75, 1.05}, {-.75, -1.05}}, // triangle pointing right
	polygon{ // cross
		{0, .5}, {.7, 1.1}, {1.1, .7}, {.5, 0}, {1.1, -.7}, {.7, -1.1},
		{0, -.5}, {-.7, -1.1}, {-1.1, -.7}, {-.5, 0}, {-1.1, .7}, {-.7, 1.1},
	},
}

// A polygon is a filled marker, its corners in units of the marker's radius.
type polygon [][2]float64

var _ draw.GlyphDrawer = polygon{}

// DrawGlyph implements [draw.GlyphDrawer].
func (p polygon) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	corners := make([]vg.Point, len(p))
	for i, corner := range p {
		corners[i] = vg.Point{
			X: at.X + vg.Length(corner[0])*style.Radius,
			Y: at.Y + vg.Length(corner[1])*style.Radius,
		}
	}
	c.FillPolygon(style.Color, corners)
}

// A ringGlyph is a hollow circle.
type ringGlyph struct{}

var _ draw.GlyphDrawer = ringGlyph{}

// DrawGlyph implements [draw.GlyphDrawer].
func (ringGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(stroke(style.Color, 1.1))
	var p vg.Path
	p.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
	p.Arc(at, style.Radius, 0, 2*math.Pi)
	p.Close()
	c.Stroke(p)
}
