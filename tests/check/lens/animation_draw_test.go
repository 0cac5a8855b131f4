package lens

import (
	"fmt"
	"html"
	"strings"

	"glasswatch/internal/lens/look"
)

// minute is how long the animation takes, in seconds.
const minute = 60.0

// box is one of the house, at a place of the grid of four by two.
type box struct {
	name        string
	column, row int
}

var house = []box{
	{"API server", 0, 0}, {"listwatch", 1, 0}, {"reflector", 2, 0}, {"deltafifo", 3, 0},
	{"indexer", 3, 1}, {"handlers", 2, 1}, {"workqueue", 1, 1}, {"controller", 0, 1},
}

// place is where an event shows: in a box, after a move to it.
type place struct {
	order int
	box   int // of the house
	move  string
}

var places = map[look.Boundary]place{
	look.Sent: {0, 0, "right"}, look.Decoded: {1, 1, "right"},
	look.Handed: {2, 2, "right"}, look.Popped: {3, 3, "right"},
	look.Stored: {4, 4, "down"}, look.Called: {5, 5, "left"}, look.Queued: {6, 6, "left"},
	look.Taken: {7, 7, "left"}, look.Written: {8, 0, "up"}, look.Reconciled: {9, 7, ""},
}

const (
	boxWidth, boxHeight = 190, 84
	stepX, stepY        = 232, 130
	marginX, marginY    = 30, 64
	linger              = 3 // slots that an event's words stay
)

const styles = `text { font: 14px system-ui, sans-serif; fill: #1c2128; }
.title { font-weight: 600; }
.box { fill: #f3f5f8; }
.arrow { stroke: #8a94a0; stroke-width: 2; }
.w { font: 12px ui-monospace, monospace; fill: #9a4a00; }
.Service { fill: #0a58b5; }
.Ingress { fill: #8a3d00; }
.key { fill: #5a3fa0; }
@media (prefers-color-scheme: dark) {
  text { fill: #e7edf3; }
  .box { fill: #182028; }
  .w { fill: #ffb75c; }
  .Service { fill: #7dbcff; }
  .Ingress { fill: #ffb75c; }
  .key { fill: #c3adff; }
}
.e { opacity: 0; }
.still { opacity: 1; }
@media (prefers-reduced-motion: no-preference) {
  .still { opacity: 0; }
  .e { animation-duration: 60s; animation-iteration-count: infinite; animation-timing-function: linear; }
`

// film is what is drawn, with the length of a slot in seconds and in percent of the minute.
type film struct {
	slot, percent float64
	frames, body  strings.Builder
}

// moves are where a mark comes from.
var moves = [][2]string{{"right", "-232px, 0"}, {"left", "232px, 0"}, {"down", "0, -130px"}, {"up", "0, 130px"}}

// animate draws the scenes as an SVG that repeats each minute. Without motion it shows what happens, scene by scene. The
// boxes have the layers' colours, which are given as rules.
func animate(scenes []scene, layers string) string {
	total := 0
	for _, s := range scenes {
		total += slotsOf(s)
	}
	f := &film{slot: minute / float64(total), percent: 100 / float64(total)}
	for _, m := range moves {
		fmt.Fprintf(&f.frames, "  @keyframes %s { 0%% { opacity: 1; transform: translate(%s); }\n"+
			"    %.2f%%, %.2f%% { opacity: 1; transform: none; } %.2f%%, 100%% { opacity: 0; } }\n",
			m[0], m[1], 0.8*f.percent, f.percent, f.percent+0.01)
	}
	for n := 1; n <= linger; n++ {
		f.seenFor(fmt.Sprintf("words%d", n), n)
	}
	drawHouse(&f.body)
	begin := 0
	for i, s := range scenes {
		f.draw(i, s, begin)
		begin += slotsOf(s)
	}
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 946 376" role="img" aria-labelledby="t">` +
		"<title id=\"t\">A Service passes the layers: it is created, changed, and deleted while the watch is cut" +
		"</title>\n<style>\n" + layers + styles + f.frames.String() + "}\n</style>\n" + f.body.String() + "</svg>\n"
}

// seenFor defines an animation that shows something for some slots.
func (f *film) seenFor(name string, slots int) {
	end := f.percent * float64(slots)
	const frames = "  @keyframes %s { 0%%, %.2f%% { opacity: 1; } %.2f%%, 100%% { opacity: 0; } }\n"
	fmt.Fprintf(&f.frames, frames, name, end-0.01, end)
}

// draw draws scene i, which begins with a slot.
func (f *film) draw(i int, s scene, begin int) {
	name, caption := fmt.Sprintf("scene%d", i), html.EscapeString(s.caption)
	f.seenFor(name, slotsOf(s))
	fmt.Fprintf(&f.body, "<text class=\"e title\" x=\"30\" y=\"34\" style=\"%s\">%s</text>\n",
		timed(name, float64(begin)*f.slot), caption)
	fmt.Fprintf(&f.body, "<text class=\"still\" x=\"30\" y=\"%d\">%d. %s</text>\n", 316+22*i, i+1, caption)
	for j, shot := range s.shots {
		drawShot(&f.body, shot, stay(s.shots, j), float64(begin+shot.slot)*f.slot)
	}
}

// slotsOf is how long a scene takes: until its last event, and a rest.
func slotsOf(s scene) int { return s.shots[len(s.shots)-1].slot + 1 + linger }

// stay is for how many slots the words of a shot can stay: until the next in the same box.
func stay(shots []shot, i int) int {
	for _, next := range shots[i+1:] {
		if places[next.At].box == places[shots[i].At].box && next.slot > shots[i].slot {
			return min(linger, next.slot-shots[i].slot)
		}
	}
	return linger
}

func corner(b box) (x, y int) { return marginX + b.column*stepX, marginY + b.row*stepY }

func drawHouse(body *strings.Builder) {
	for i, b := range house {
		x, y := corner(b)
		layer := strings.ToLower(strings.ReplaceAll(b.name, " ", ""))
		fmt.Fprintf(body, "<rect class=\"box %s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n",
			layer, x, y, boxWidth, boxHeight)
		fmt.Fprintf(body, "<text class=\"title %s\" x=\"%d\" y=\"%d\">%s</text>\n", layer, x+12, y+24, b.name)
		nextX, nextY := corner(house[(i+1)%len(house)])
		fmt.Fprintf(body, "<line class=\"arrow\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n",
			edge(x, nextX, boxWidth), edge(y, nextY, boxHeight), edge(nextX, x, boxWidth), edge(nextY, y, boxHeight))
	}
}

// edge is the coordinate at which a line leaves a box towards another.
func edge(from, to, size int) int {
	switch {
	case to > from:
		return from + size
	case to < from:
		return from
	}
	return from + size/2
}

// drawShot draws the mark that moves, and the words that stay.
func drawShot(body *strings.Builder, s shot, stays int, at float64) {
	p := places[s.At]
	x, y := corner(house[p.box])
	move := p.move
	if s.At == look.Sent && s.Kind == "Ingress" {
		move = "" // the write brought it
	}
	class := s.Kind
	if class == "" {
		class = "key"
	}
	if move != "" {
		fmt.Fprintf(body, "<circle class=\"e %s\" cx=\"%d\" cy=\"%d\" r=\"8\" style=\"%s\"/>\n",
			class, x+boxWidth/2, y+boxHeight/2, timed(move, at))
	}
	words := []string{string(s.At)}
	for _, word := range []string{s.Action, s.Kind} {
		if word != "" {
			words = append(words, word)
		}
	}
	if s.Tombstone {
		words = append(words, "✝")
	}
	fmt.Fprintf(body, "<text class=\"e w\" x=\"%d\" y=\"%d\" style=\"%s\">%s</text>\n",
		x+12, y+68, timed(fmt.Sprintf("words%d", stays), at), html.EscapeString(strings.Join(words, " ")))
}

// timed is a style: an animation that begins at a second.
func timed(name string, at float64) string {
	return fmt.Sprintf("animation-name: %s; animation-delay: %.2fs", name, at)
}
