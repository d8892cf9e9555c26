package plots

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// stroke is a line of the given width, solid unless there are dashes.
func stroke(c color.Color, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}

// line draws the points joined up; a single point, which no line can show, is a dot.
func line(points plotter.XYs, style draw.LineStyle) plot.Plotter {
	if len(points) == 1 {
		return dots(points, draw.GlyphStyle{Color: style.Color, Radius: style.Width*.6 + 1, Shape: draw.CircleGlyph{}})
	}
	return &plotter.Line{XYs: points, LineStyle: style}
}

func dots(points plotter.XYs, style draw.GlyphStyle) plot.Plotter {
	return &plotter.Scatter{XYs: points, GlyphStyle: style}
}

// band fills the area between two lines over the same x.
func band(lower, upper plotter.XYs, fill color.Color) plot.Plotter {
	ring := append(plotter.XYs{}, upper...)
	for i := len(lower) - 1; i >= 0; i-- {
		ring = append(ring, lower[i])
	}
	return &plotter.Polygon{XYs: []plotter.XYs{ring}, Color: fill}
}

// A mark is a plotter that needs nothing but a function.
type mark func(c draw.Canvas, x, y func(float64) vg.Length)

var _ plot.Plotter = mark(nil)

// Plot implements [plot.Plotter].
func (m mark) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	m(c, x, y)
}

// lane draws a bar between two values of x above the panel, in the given one of so many lanes.
func lane(from, to float64, fill color.Color, i, lanes int) mark {
	return func(c draw.Canvas, x, _ func(float64) vg.Length) {
		left, right := max(x(from), c.Min.X), min(x(to), c.Max.X)
		if right < left {
			return
		}
		right = max(right, left+.6) // a moment, too, can be seen
		height := (laneRoom - 2) / vg.Length(max(lanes, 3))
		bottom := c.Max.Y + 1 + height*vg.Length(i)
		c.SetColor(fill)
		c.Fill(box(c, left, right, bottom, bottom+height*.75).Rectangle.Path())
	}
}

// upright draws a line up the panel at the given x.
func upright(at float64, style draw.LineStyle) mark {
	return func(c draw.Canvas, x, _ func(float64) vg.Length) {
		if v := x(at); c.ContainsX(v) {
			c.StrokeLine2(style, v, c.Min.Y, v, c.Max.Y)
		}
	}
}

// level draws a line across the panel at the given y.
func level(at float64, style draw.LineStyle) mark {
	return func(c draw.Canvas, _, y func(float64) vg.Length) {
		if v := y(at); c.ContainsY(v) {
			c.StrokeLine2(style, c.Min.X, v, c.Max.X, v)
		}
	}
}

// note writes s beside a point of a line that falls: above it to the right or, where there is no room, below it to the
// left. The line is at neither.
func note(atX, atY float64, s string, ink pen) mark {
	return func(c draw.Canvas, x, y func(float64) vg.Length) {
		s := ink.fit(s, c.Max.X-c.Min.X-8)
		width := ink.width(s)
		left, base := x(atX)+6, y(atY)+5
		if left+width > c.Max.X {
			left, base = max(x(atX)-6-width, c.Min.X+2), y(atY)-5-ink.size*.7
		}
		ink.write(c, s, left, min(max(base, c.Min.Y+3), c.Max.Y-ink.size), leftOf)
	}
}

// The swatches of a legend.

func lineSwatch(style draw.LineStyle) func(draw.Canvas) {
	return func(c draw.Canvas) { c.StrokeLine2(style, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y) }
}

func boxSwatch(fill color.Color) func(draw.Canvas) {
	return func(c draw.Canvas) {
		area := box(c, c.Min.X+2, c.Max.X-2, c.Min.Y, c.Max.Y)
		c.SetColor(fill)
		c.Fill(area.Rectangle.Path())
	}
}

func uprightSwatch(style draw.LineStyle) func(draw.Canvas) {
	return func(c draw.Canvas) { c.StrokeLine2(style, c.Center().X, c.Min.Y-1, c.Center().X, c.Max.Y+1) }
}

func bandSwatch(fill color.Color, upper, lower draw.LineStyle) func(draw.Canvas) {
	return func(c draw.Canvas) {
		c.SetColor(fill)
		c.Fill(c.Rectangle.Path())
		c.StrokeLine2(upper, c.Min.X, c.Max.Y, c.Max.X, c.Max.Y)
		c.StrokeLine2(lower, c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
	}
}

func laneSwatch(fill color.Color) func(draw.Canvas) {
	return func(c draw.Canvas) {
		c.SetColor(fill)
		y := c.Center().Y
		c.Fill(box(c, c.Min.X+1, c.Max.X-1, y-1.2, y+1.2).Rectangle.Path())
	}
}

func dotSwatch(style draw.GlyphStyle) func(draw.Canvas) {
	return func(c draw.Canvas) { c.DrawGlyphNoClip(style, c.Center()) }
}
