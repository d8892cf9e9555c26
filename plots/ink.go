package plots

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"strings"
	"unicode"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// faces are the fonts of all figures. They come with the binary, so that a picture is the same on every machine.
var faces = font.NewCache(liberation.Collection())

// A pen writes text in one size, weight and colour.
type pen struct {
	size  vg.Length
	bold  bool
	color color.Color
}

// The pens of a figure.
var (
	titlePen = pen{size: 13, bold: true, color: black}
	leadPen  = pen{size: 9.5, color: grey}
	headPen  = pen{size: 10, bold: true, color: black}
	tagPen   = pen{size: 8.5, color: grey}
	tickPen  = pen{size: 8.5, color: grey}
	labelPen = pen{size: 9, color: black}
	notePen  = pen{size: 8.5, color: grey}
)

func (p pen) in(c color.Color) pen { p.color = c; return p }

func (p pen) heavy() pen { p.bold = true; return p }

func (p pen) face() font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if p.bold {
		f.Weight = stdfont.WeightBold
	}
	return faces.Lookup(f, p.size)
}

func (p pen) width(s string) vg.Length {
	face := p.face()
	return face.Width(clean(s))
}

// line is the distance between two lines of text.
func (p pen) line() vg.Length { return p.size * 1.35 }

// middle is how far below the middle of a capital letter its baseline lies.
func (p pen) middle() vg.Length { return p.size * 0.35 }

// The places of a text relative to the point at which it is written.
const (
	leftOf   = 0   // it begins there
	centred  = -.5 // its middle is there
	endingAt = -1  // it ends there
)

// write draws s in one line with its baseline at y.
func (p pen) write(c vg.Canvas, s string, x, y vg.Length, align float64) {
	if s = clean(s); s == "" {
		return
	}
	c.SetColor(p.color)
	c.FillString(p.face(), vg.Point{X: x + vg.Length(align)*p.width(s), Y: y}, s)
}

// fit shortens s with an ellipsis until it is no wider than most.
func (p pen) fit(s string, most vg.Length) string {
	if p.width(s) <= most {
		return s
	}
	runes := []rune(s)
	for len(runes) > 0 && p.width(string(runes)+"…") > most {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ,;:·") + "…"
}

// wrap breaks s into lines no wider than most. A single word that is wider is shortened.
func (p pen) wrap(s string, most vg.Length) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		longer := line + " " + word
		switch {
		case line == "":
			line = p.fit(word, most)
		case p.width(longer) > most:
			lines = append(lines, line)
			line = p.fit(word, most)
		default:
			line = longer
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// clean replaces what cannot be printed, so that a name from a file cannot break a picture.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, s)
}

// render draws s in so many dots per inch.
func render(s *sheet, dots int) image.Image {
	w, h := s.size()
	canvas := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(dots))
	s.draw(draw.New(canvas))
	return canvas.Image()
}

// drawPNG is the file of what render draws.
func drawPNG(s *sheet, dots int) ([]byte, error) {
	var out bytes.Buffer
	if err := png.Encode(&out, render(s, dots)); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// svgFonts replaces the one family that gonum names. Arial and Helvetica are as wide as Liberation Sans; any other font
// is fitted by textLength.
const svgFonts = "font-family:'Liberation Sans',Arial,Helvetica,sans-serif"

// drawSVG renders s for a browser. alt describes the picture to those who can't see it.
func drawSVG(s *sheet, alt string) ([]byte, error) {
	w, h := s.size()
	canvas := &svgCanvas{Canvas: vgsvg.New(w, h)}
	s.draw(draw.New(canvas))
	var raw bytes.Buffer
	if _, err := canvas.WriteTo(&raw); err != nil {
		return nil, err
	}
	_, body, found := strings.Cut(raw.String(), `xlink">`)
	if !found {
		return nil, errors.New("gonum/plot wrote an SVG header of another form")
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="%s" `+
		`width="%.4gpt" height="%.4gpt" viewBox="0 0 %.4g %.4g">`, html.EscapeString(clean(alt)), w, h, w, h)
	for i, part := range strings.Split(body, "<text ") {
		if i > 0 {
			fmt.Fprintf(&out, `<text textLength="%.4g" lengthAdjust="spacingAndGlyphs" `, canvas.widths[i-1])
		}
		part = strings.Replace(part, "\n\tstyle", " style", 1)
		out.WriteString(strings.ReplaceAll(part, "font-family:Liberation Sans;font-variant:normal", svgFonts))
	}
	return out.Bytes(), nil
}

// svgCanvas notes the width of every text that is drawn, for drawSVG to fix it whatever font the reader has.
type svgCanvas struct {
	*vgsvg.Canvas
	widths []vg.Length
}

var _ vg.CanvasSizer = (*svgCanvas)(nil)

// FillString implements [vg.Canvas].
func (c *svgCanvas) FillString(face font.Face, at vg.Point, s string) {
	c.widths = append(c.widths, face.Width(s))
	c.Canvas.FillString(face, at, s)
}
