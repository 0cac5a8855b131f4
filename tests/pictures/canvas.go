package pictures

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// style follows the reader's choice of light or dark. Only fonts that every system has are used, and no CSS variables,
// which some programs that show SVG do not know.
const style = `
text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #1f2328 }
.name { font: bold 14px ui-monospace, "DejaVu Sans Mono", monospace }
.small { font-size: 12px }
.dim { fill: #59636e }
.fault { fill: #a04d00 }
.seam { fill: #0b5cba; font-weight: bold }
.paper { fill: #ffffff }
.box { fill: #f6f8fa; stroke: #59636e }
.leaf { fill: #e3f2e6; stroke: #59636e }
.frame { fill: none; stroke: #59636e; stroke-dasharray: 2 4 }
.line { fill: none; stroke: #59636e; stroke-width: 1.5; marker-end: url(#arrow) }
.faultline { fill: none; stroke: #a04d00; stroke-width: 1.5; stroke-dasharray: 6 4; marker-end: url(#faultarrow) }
.dot { fill: #ffffff; stroke: #0b5cba; stroke-width: 1.5 }
#arrow path { fill: #59636e }
#faultarrow path { fill: #a04d00 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .dim { fill: #9da7b1 }
  .fault { fill: #f0a04b }
  .seam { fill: #6cb1ff }
  .paper { fill: #0d1117 }
  .box { fill: #161b22; stroke: #9da7b1 }
  .leaf { fill: #12261a; stroke: #9da7b1 }
  .frame, .line { stroke: #9da7b1 }
  .faultline { stroke: #f0a04b }
  .dot { fill: #0d1117; stroke: #6cb1ff }
  #arrow path { fill: #9da7b1 }
  #faultarrow path { fill: #f0a04b }
}
`

// lineHeight is that of text, and advance about how wide a character of it is. A browser's font may differ a little.
const (
	lineHeight  = 18
	advance     = 7.2
	nameAdvance = 8.6
)

// rect is a box on the canvas.
type rect struct{ x, y, w, h int }

func (r rect) bottom() int  { return r.y + r.h }
func (r rect) right() int   { return r.x + r.w }
func (r rect) centerX() int { return r.x + r.w/2 }
func (r rect) centerY() int { return r.y + r.h/2 }

func (r rect) overlaps(o rect) bool {
	return r.x < o.right() && o.x < r.right() && r.y < o.bottom() && o.y < r.bottom()
}

// canvas collects a picture, and notes where text and boxes are, for the test.
type canvas struct {
	w, h     int
	title    string
	body     strings.Builder
	boxes    []rect
	texts    []rect
	words    []string // of texts
	segments [][2]point
}

type point struct{ x, y int }

func (c *canvas) box(r rect, class string) {
	c.boxes = append(c.boxes, r)
	c.frame(r, class)
}

// frame draws a rectangle that other things may overlap.
func (c *canvas) frame(r rect, class string) {
	fmt.Fprintf(&c.body, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`+"\n",
		class, r.x, r.y, r.w, r.h)
}

// text writes one line. x is its middle if anchor is "middle", and its end if that is "end".
func (c *canvas) text(x, y int, anchor, class, words string) {
	w := width(words, class)
	left := x
	switch anchor {
	case "middle":
		left = x - w/2
	case "end":
		left = x - w
	}
	c.texts, c.words = append(c.texts, rect{left, y - 12, w, lineHeight - 2}), append(c.words, words)
	fmt.Fprintf(&c.body, `<text class="%s" x="%d" y="%d" text-anchor="%s">%s</text>`+"\n",
		class, x, y, anchor, html.EscapeString(words))
}

// paragraph writes words on lines that are at most w wide, and returns the y of the line after them.
func (c *canvas) paragraph(x, y, w int, anchor, class, words string) int {
	for _, line := range wrap(words, w, class) {
		c.text(x, y, anchor, class, line)
		y += lineHeight
	}
	return y
}

// arrow draws a line through points, with a head at its end.
func (c *canvas) arrow(class string, points ...point) {
	var path strings.Builder
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		} else {
			c.segments = append(c.segments, [2]point{points[i-1], p})
		}
		fmt.Fprintf(&path, "%s%d %d ", command, p.x, p.y)
	}
	fmt.Fprintf(&c.body, "<path class=%q d=%q/>\n", class, strings.TrimSpace(path.String()))
}

// dot is a numbered point of a line.
func (c *canvas) dot(p point, number int) {
	fmt.Fprintf(&c.body, `<circle class="dot" cx="%d" cy="%d" r="10"/>`+"\n", p.x, p.y)
	fmt.Fprintf(&c.body, `<text class="small seam" x="%d" y="%d" text-anchor="middle">%d</text>`+"\n",
		p.x, p.y+4, number)
}

// svg returns the file.
func (c *canvas) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`role="img">`+"\n", c.w, c.h, c.w, c.h)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n<defs>\n", html.EscapeString(c.title), style)
	for _, id := range []string{"arrow", "faultarrow"} {
		fmt.Fprintf(&b, `<marker id="%s" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" `+
			`orient="auto"><path d="M0 0L10 5L0 10z"/></marker>`+"\n", id)
	}
	fmt.Fprintf(&b, `</defs><rect class="paper" width="%d" height="%d"/>`+"\n%s</svg>\n", c.w, c.h, c.body.String())
	return b.String()
}

func width(words, class string) int {
	each := advance
	if strings.Contains(class, "name") {
		each = nameAdvance
	} else if strings.Contains(class, "small") {
		each = advance * 12 / 13
	}
	return int(each * float64(utf8.RuneCountInString(words)))
}

// wrap breaks words into lines at blanks.
func wrap(words string, w int, class string) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(words) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && width(longer, class) > w {
			lines, longer = append(lines, line), word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
