package plots

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A sheet is a figure's page: title, lead, legend, panels in columns, notes, from top to bottom. Everything but the data
// stands outside of the data's areas.
type sheet struct {
	title string
	lead  string // what is drawn, of which trials
	keys  []key
	notes []string

	yTitle, xTitle string
	panels         []panel
	columns        int
	panelHeight    vg.Length // of the data's area
	right          vg.Length // room for labels to the right of the data
	rowNames       bool      // the y axis carries names, which may take more room than figures
	lanes          bool      // bars are drawn between the heads and the data
	bare           bool      // without title, lead and notes, for a page that has them in its own text
}

// A key is an entry of the legend.
type key struct {
	label  string
	swatch func(c draw.Canvas) // draws into c, which is swatchWidth wide
}

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

// The measures of a sheet, in points.
const (
	pageWidth   vg.Length = 660
	margin      vg.Length = 14
	swatchWidth vg.Length = 18
	gutter      vg.Length = 18 // between columns
	rowGap      vg.Length = 12
	xTickRoom   vg.Length = 16
	nameRoom    vg.Length = 150 // at most, for the names of rows
	laneRoom    vg.Length = 12  // between a panel's head and its data
)

func (s *sheet) size() (w, h vg.Length) { return pageWidth, s.flow(nil) }

func (s *sheet) draw(c draw.Canvas) {
	c.SetColor(white)
	c.Fill(c.Rectangle.Path())
	s.flow(&c)
}

// flow goes down the page and returns the height that it took. It draws when there is a canvas, so that measuring and
// drawing cannot differ.
func (s *sheet) flow(c *draw.Canvas) vg.Length {
	down := margin
	text := func(p pen, lines []string) {
		for _, line := range lines {
			down += p.line()
			if c != nil {
				p.write(c, line, margin, c.Max.Y-down+p.size*.3, leftOf)
			}
		}
	}
	room := pageWidth - 2*margin
	if !s.bare {
		text(titlePen, titlePen.wrap(s.title, room))
		text(leadPen, leadPen.wrap(s.lead, room))
	}
	down += s.legend(c, down)
	if s.yTitle != "" {
		down += 4
		text(tickPen, []string{s.yTitle})
	}
	down += s.grid(c, down)
	if s.xTitle != "" {
		down += tickPen.line()
		if c != nil {
			tickPen.write(c, s.xTitle, c.Max.X-margin-s.right, c.Max.Y-down+tickPen.size*.3, endingAt)
		}
	}
	if !s.bare {
		for _, note := range s.notes {
			down += 3
			text(notePen, notePen.wrap(note, room))
		}
	}
	return down + margin
}

// legend lays the keys out in rows and returns their height.
func (s *sheet) legend(c *draw.Canvas, top vg.Length) vg.Length {
	if len(s.keys) == 0 {
		return 0
	}
	const rowHeight, between = 14, 16
	x, height := margin, vg.Length(rowHeight+6)
	for _, k := range s.keys {
		width := swatchWidth + 5 + labelPen.width(k.label)
		if x > margin && x+width > pageWidth-margin {
			x, height = margin, height+rowHeight
		}
		if c != nil {
			y := c.Max.Y - top - height + rowHeight/2
			k.swatch(box(*c, x, x+swatchWidth, y-5, y+5))
			labelPen.write(c, k.label, x+swatchWidth+5, y-labelPen.middle(), leftOf)
		}
		x += width + between
	}
	return height + 2
}

// grid lays the panels out and returns their height.
func (s *sheet) grid(c *draw.Canvas, top vg.Length) vg.Length {
	if len(s.panels) == 0 {
		return 0
	}
	columns := min(max(s.columns, 1), len(s.panels))
	rows := (len(s.panels) + columns - 1) / columns
	header := s.header()
	rowHeight := header + s.panelHeight + rowGap
	if c != nil {
		left := margin + s.tickRoom()
		width := (pageWidth - margin - s.right - left - gutter*vg.Length(columns-1)) / vg.Length(columns)
		for i, p := range s.panels {
			column := i % columns
			x := left + vg.Length(column)*(width+gutter)
			y := c.Max.Y - top - vg.Length(i/columns)*rowHeight - header
			lowest := i+columns >= len(s.panels)
			p.draw(box(*c, x, x+width, y-s.panelHeight, y), s, column == 0, lowest)
		}
	}
	return vg.Length(rows)*rowHeight - rowGap + xTickRoom
}

func (s *sheet) header() vg.Length {
	height := s.headRoom()
	for _, p := range s.panels {
		with := s.headRoom()
		if p.head != "" {
			with += headPen.line()
		}
		if p.tag != "" {
			with += tagPen.line()
		}
		height = max(height, with)
	}
	return height
}

// headRoom is what lies between a panel's head and its data.
func (s *sheet) headRoom() vg.Length {
	if s.lanes {
		return laneRoom + 3
	}
	return 6
}

// tickRoom is the width of the widest label at a y axis.
func (s *sheet) tickRoom() vg.Length {
	var widest vg.Length
	for _, p := range s.panels {
		for _, t := range p.plot.Y.Tick.Marker.Ticks(p.plot.Y.Min, p.plot.Y.Max) {
			widest = max(widest, s.rowPen().width(t.Label))
		}
	}
	return min(widest, nameRoom) + 6
}

func (s *sheet) rowPen() pen {
	if s.rowNames {
		return labelPen
	}
	return tickPen
}

// box is the part of c between the given bounds.
func box(c draw.Canvas, left, right, bottom, top vg.Length) draw.Canvas {
	return draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: right, Y: top},
	}}
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
