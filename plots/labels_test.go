package plots

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// illegible lists the texts of a figure that leave the picture or lie upon one another.
func illegible(t *testing.T, svg []byte) []string {
	t.Helper()
	var faults []string
	texts, width, height := textsOf(t, svg)
	for i, a := range texts {
		if a.left < -.5 || a.right > width+.5 || a.top < -.5 || a.bottom > height+.5 {
			faults = append(faults, fmt.Sprintf("%q is cut off: %+v of %v × %v", a.s, a, width, height))
		}
		for _, b := range texts[:i] {
			if a.overlaps(b) {
				faults = append(faults, fmt.Sprintf("%q and %q overlap: %+v, %+v", a.s, b.s, a, b))
			}
		}
	}
	return faults
}

// A label is a text of an SVG with the box that it takes.
type label struct {
	s                        string
	left, right, top, bottom float64
}

func (a label) overlaps(b label) bool {
	const slack = .6
	return a.left < b.right-slack && b.left < a.right-slack && a.top < b.bottom-slack && b.top < a.bottom-slack
}

// textsOf returns the texts of an SVG, which must be well-formed. No text in a figure is turned or moved by a group.
func textsOf(t *testing.T, svg []byte) (labels []label, width, height float64) {
	t.Helper()
	var root struct {
		ViewBox string `xml:"viewBox,attr"`
		Group   struct {
			Inner []byte `xml:",innerxml"`
			Texts []struct {
				X      float64 `xml:"x,attr"`
				Y      float64 `xml:"y,attr"`
				Length float64 `xml:"textLength,attr"`
				Style  string  `xml:"style,attr"`
				Text   string  `xml:",chardata"`
			} `xml:"text"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(svg, &root); err != nil {
		t.Fatalf("not well-formed: %v", err)
	}
	if n := bytes.Count(root.Group.Inner, []byte("<g")); n > 0 {
		t.Fatalf("%d groups within the group: the places of texts are not known", n)
	}
	if _, err := fmt.Sscan(root.ViewBox, new(float64), new(float64), &width, &height); err != nil {
		t.Fatal(err)
	}
	for _, text := range root.Group.Texts {
		_, after, _ := strings.Cut(text.Style, "font-size:")
		number, _, _ := strings.Cut(after, "px")
		size, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Fatalf("no size in %q: %v", text.Style, err)
		}
		base := height + text.Y // y is negative, from the lower edge
		labels = append(labels, label{text.Text, text.X, text.X + text.Length, base - .72*size, base + .2*size})
	}
	return labels, width, height
}

func TestTheCheckOfLegibilityFindsWhatIsPlanted(t *testing.T) {
	good := sheet{title: "a", lead: "b"}
	for _, c := range []struct {
		name   string
		change func(svg string) string
		want   int
	}{
		{"nothing", func(svg string) string { return svg }, 0},
		{"two texts in one place", func(svg string) string {
			i, j := strings.Index(svg, "<text "), strings.Index(svg, "</text>")+len("</text>")
			return svg[:j] + svg[i:j] + svg[j:]
		}, 1},
		{"a text beyond the left edge", func(svg string) string { return strings.Replace(svg, `x="14"`, `x="-9"`, 1) }, 1},
	} {
		svg, err := drawSVG(&good, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := illegible(t, []byte(c.change(string(svg)))); len(got) != c.want {
			t.Errorf("%s: found %q, want %d", c.name, got, c.want)
		}
	}
}
