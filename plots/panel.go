package plots

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A panel is one coordinate system. All panels of a sheet share their y axis.
type panel struct {
	head  string
	look  *look  // of the strategy that the panel is about, if it is about one
	tag   string // under the head
	alert bool   // the tag tells of a failure
	plot  *plot.Plot
	marks []plot.Plotter // drawn in their order
	// message stands in the place of the data, if there are none.
	message string
}

// draw draws p with its data in c.
func (p panel) draw(c draw.Canvas, s *sheet, yLabels, xLabels bool) {
	p.drawHeader(c, s.headRoom())
	if p.message != "" {
		p.drawMessage(c)
		if xLabels {
			p.drawXTicks(c, false)
		}
		return
	}
	p.drawYTicks(c, s, yLabels)
	p.drawXTicks(c, true)
	for _, m := range p.marks {
		m.Plot(c, p.plot)
	}
	c.StrokeLine2(draw.LineStyle{Color: grey, Width: .7}, c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
	if !xLabels {
		return
	}
	p.drawXTicks(c, false)
}

func (p panel) drawHeader(c draw.Canvas, room vg.Length) {
	y, x := c.Max.Y+room, c.Min.X
	if p.tag != "" {
		ink := tagPen
		if p.alert {
			ink = ink.in(alarm)
		}
		ink.write(c, ink.fit(p.tag, c.Max.X-x), x, y, leftOf)
		y += tagPen.line()
	}
	if p.look != nil {
		c.DrawGlyphNoClip(p.look.glyph(3.4), vg.Point{X: x + 4, Y: y + headPen.middle()})
		x += 12
	}
	headPen.write(c, headPen.fit(p.head, c.Max.X-x), x, y, leftOf)
}

// drawMessage says in words why there is no picture.
func (p panel) drawMessage(c draw.Canvas) {
	c.SetColor(mist)
	c.Fill(c.Rectangle.Path())
	lines := labelPen.wrap(p.message, c.Max.X-c.Min.X-16)
	if most := max(1, int((c.Max.Y-c.Min.Y)/labelPen.line())); len(lines) > most {
		rest := strings.Join(lines[most-1:], " ")
		lines = append(lines[:most-1], labelPen.fit(rest, c.Max.X-c.Min.X-16))
	}
	y := c.Center().Y + labelPen.line()*vg.Length(len(lines))/2
	for _, line := range lines {
		y -= labelPen.line()
		labelPen.in(grey).write(c, line, c.Center().X, y+labelPen.size*.35, centred)
	}
}

func (p panel) drawYTicks(c draw.Canvas, s *sheet, labels bool) {
	axis := p.plot.Y
	ink := s.rowPen()
	for _, t := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
		y := c.Y(axis.Norm(t.Value))
		if t.IsMinor() || !c.ContainsY(y) {
			continue
		}
		c.StrokeLine2(draw.LineStyle{Color: hair, Width: .6}, c.Min.X, y, c.Max.X, y)
		if labels {
			ink.write(c, ink.fit(t.Label, nameRoom), c.Min.X-6, y-ink.middle(), endingAt)
		}
	}
}

// drawXTicks draws the grid of the x axis, or its labels.
func (p panel) drawXTicks(c draw.Canvas, grid bool) {
	axis := p.plot.X
	edge := -vg.Length(1e6) // where the last label ended
	for _, t := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
		x := c.X(axis.Norm(t.Value))
		if t.IsMinor() || !c.ContainsX(x) {
			continue
		}
		if grid {
			c.StrokeLine2(draw.LineStyle{Color: hair, Width: .6}, x, c.Min.Y, x, c.Max.Y)
			continue
		}
		half := tickPen.width(t.Label) / 2
		if x-half < edge+4 {
			continue
		}
		edge = x + half
		c.StrokeLine2(draw.LineStyle{Color: grey, Width: .7}, x, c.Min.Y, x, c.Min.Y-3)
		tickPen.write(c, t.Label, x, c.Min.Y-12, centred)
	}
}
