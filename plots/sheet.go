package plots

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A sheet is a figure's page: title, lead, legend, panels in columns, notes, from top to bottom. Everything but the
// data stands outside of the data's areas.
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
