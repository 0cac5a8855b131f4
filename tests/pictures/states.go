package pictures

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// machine is what the reflector's code says of its states.
type machine struct {
	states []named
	// leaves is by the names of two states: when the first is left for the second, without an error.
	leaves map[[2]string]string
	// after has, for a state and what follows an error in it, the kinds of errors.
	after map[[2]string][]string
	// missing is what the picture shows and the code does not say.
	missing []string
}

var (
	// leftFor matches "left for Watching when …", and "or for ListingPaged if …".
	leftFor = regexp.MustCompile(`for (\w+)((?: (?:if|when|once) [^.,]+)?)`)
	// errorRow matches a row of the table of errors: a kind, and what follows in each of four states.
	errorRow = regexp.MustCompile(`^\t(\S.*?) {2,}(\S.*?) {2,}(\S.*?) {2,}(\S.*?) {2,}(\S.*?)\n?$`)
	footnote = regexp.MustCompile(` \(\d\)`)
)

func readMachine(fsys fs.FS) (*machine, error) {
	m := &machine{leaves: map[[2]string]string{}, after: map[[2]string][]string{}}
	var err error
	if m.states, err = constants(fsys, "reflector/state.go", "State"); err != nil {
		return nil, err
	}
	isState := func(name string) bool {
		return slices.ContainsFunc(m.states, func(s named) bool { return s.name == name })
	}
	for _, state := range m.states {
		for _, left := range leftFor.FindAllStringSubmatch(state.text, -1) {
			if isState(left[1]) {
				m.leaves[[2]string{state.name, left[1]}] = strings.TrimSpace(left[2])
			}
		}
	}
	rows, err := comment(fsys, "reflector/errors.go", errorRow)
	if err != nil {
		return nil, err
	}
	head := rows[0]
	for _, state := range head[1:] {
		if !isState(state) {
			return nil, fmt.Errorf("reflector/errors.go: expected the names of states above the table, came %q", head)
		}
	}
	for _, row := range rows[1:] {
		for i, cell := range row[1:] {
			at := [2]string{head[i+1], footnote.ReplaceAllString(cell, "")}
			m.after[at] = append(m.after[at], row[0])
		}
	}
	return m, nil
}

// kinds joins the kinds of errors after which one of these follows in a state.
func (m *machine) kinds(state string, follows ...string) string {
	var kinds []string
	for _, f := range follows {
		kinds = append(kinds, m.after[[2]string{state, f}]...)
		delete(m.after, [2]string{state, f})
	}
	if kinds == nil {
		m.missing = append(m.missing, state+" "+strings.Join(follows, " or "))
	}
	return strings.Join(kinds, ", ")
}

// took returns when a state is left for another, and notes that the picture shows it.
func (m *machine) took(from, to string) string {
	text, said := m.leaves[[2]string{from, to}]
	if !said {
		m.missing = append(m.missing, from+" to "+to)
	}
	delete(m.leaves, [2]string{from, to})
	return text
}

// The places of the states.
const (
	stateW, stateH = 230, 76
	leftX, rightX  = 250, 740
)

var statePlaces = map[string]rect{
	"Idle":             {leftX, 20, stateW, 60},
	"ListingStreaming": {leftX, 190, stateW, stateH},
	"ListingPaged":     {rightX, 190, stateW, stateH},
	"Watching":         {leftX, 370, stateW, stateH},
	"Connecting":       {rightX, 370, stateW, stateH},
	"BackingOff":       {leftX, 550, rightX + stateW - leftX, 50},
	"Stopped":          {leftX, 640, stateW, 50},
}

// stayings are what follows the errors after which the reflector need not leave a state.
var stayings = map[string]struct{ follows, words string }{
	"ListingStreaming": {"latest", "a list of the latest state"},
	"ListingPaged":     {"latest", "a list of the latest state"},
	"Watching":         {"next event", "the next event"},
	"Connecting":       {"watch", "once more"},
}

// drawStates draws the reflector's state machine.
func drawStates(fsys fs.FS) (*canvas, error) {
	m, err := readMachine(fsys)
	if err != nil {
		return nil, err
	}
	c := &canvas{w: 1150, h: 760, title: "The states of the reflector"}
	for _, state := range m.states {
		place, known := statePlaces[state.name]
		if !known {
			return nil, fmt.Errorf("tests/pictures: the state %s has no place in the picture", state.name)
		}
		c.box(place, "box")
		note, middle := "", place.centerY()+5
		if stay, stays := stayings[state.name]; stays {
			note = m.kinds(state.name, stay.follows) + ": " + stay.words
		}
		if note != "" {
			middle = place.y + 24
		}
		c.text(place.centerX(), middle, "middle", "name", state.name)
		c.paragraph(place.centerX(), place.y+44, place.w-10, "middle", "small fault", note)
	}
	drawUsual(c, m)
	drawErrors(c, m)
	if len(m.leaves)+len(m.after)+len(m.missing) > 0 {
		return nil, fmt.Errorf("tests/pictures: the code says, and states.svg does not show: %v %v; the other way round: %q",
			m.leaves, m.after, m.missing)
	}
	return c, nil
}

// drawUsual draws the transitions without errors.
func drawUsual(c *canvas, m *machine) {
	at := func(state string) rect { return statePlaces[state] }
	idle, streaming, paged := at("Idle"), at("ListingStreaming"), at("ListingPaged")
	watching, connecting, off, stopped := at("Watching"), at("Connecting"), at("BackingOff"), at("Stopped")

	c.arrow("line", point{idle.centerX(), idle.bottom()}, point{idle.centerX(), streaming.y})
	c.text(idle.centerX()-10, 120, "end", "small", "Run "+m.took("Idle", "ListingStreaming"))
	c.arrow("line", point{idle.right(), 64}, point{paged.centerX(), 64}, point{paged.centerX(), paged.y})
	c.text(idle.right()+12, 82, "start", "small", "Run, "+m.took("Idle", "ListingPaged"))
	outer := c.w - 60
	c.arrow("line", point{idle.right(), 36}, point{outer, 36}, point{outer, 390}, point{connecting.right(), 390})
	c.text(idle.right()+12, 30, "start", "small", "Run, "+m.took("Idle", "Connecting"))

	c.arrow("line", point{streaming.centerX(), streaming.bottom()}, point{streaming.centerX(), watching.y})
	c.paragraph(streaming.centerX()+10, 304, 170, "start", "small", m.took("ListingStreaming", "Watching"))
	c.arrow("line", point{paged.centerX(), paged.bottom()}, point{paged.centerX(), connecting.y})
	c.paragraph(paged.centerX()-10, 304, 180, "end", "small", m.took("ListingPaged", "Connecting"))
	middle := (watching.right() + connecting.x) / 2
	c.arrow("line", point{connecting.x, 384}, point{watching.right(), 384})
	c.text(middle, 378, "middle", "small", m.took("Connecting", "Watching"))
	c.arrow("line", point{watching.right(), 406}, point{connecting.x, 406})
	c.text(middle, 422, "middle", "small", m.took("Watching", "Connecting"))
	c.text(middle, 440, "middle", "small fault", m.kinds("Watching", "watch"))

	back := m.took("BackingOff", "Connecting")
	c.arrow("line", point{connecting.right() - 30, off.y}, point{connecting.right() - 30, connecting.bottom()})
	c.paragraph(connecting.right()-38, 500, 90, "end", "small", back)
	c.arrow("line", point{off.x, off.centerY() + 10}, point{40, off.centerY() + 10}, point{40, streaming.centerY()},
		point{streaming.x - 20, streaming.centerY()})
	c.paragraph(52, 560, 150, "start", "small", back)
	c.frame(rect{streaming.x - 20, streaming.y - 14, paged.right() + 20 - (streaming.x - 20), stateH + 28}, "frame")
	c.text(streaming.x-30, streaming.y, "end", "small dim", "a listing state")

	for _, state := range m.states {
		if state.name == "Stopped" {
			c.paragraph(stopped.right()+24, stopped.y+20, c.w-stopped.right()-40, "start", "small", state.text)
		}
	}
	legend := "Dashed lines, and the text in boxes, are for kinds of errors, as the table in reflector/errors.go has them. " +
		"Its footnotes are left out here."
	c.paragraph(stopped.x, stopped.bottom()+30, c.w-stopped.x-20, "start", "small dim", legend)
}

// drawErrors draws what follows errors.
func drawErrors(c *canvas, m *machine) {
	at := func(state string) rect { return statePlaces[state] }
	streaming, paged, off := at("ListingStreaming"), at("ListingPaged"), at("BackingOff")
	watching, connecting := at("Watching"), at("Connecting")
	label := func(x, y, w int, anchor, words string) { c.paragraph(x, y, w, anchor, "small fault", words) }

	c.arrow("faultline", point{streaming.right(), streaming.centerY()}, point{paged.x, streaming.centerY()})
	gap := paged.x - streaming.right()
	label(streaming.right()+gap/2, streaming.centerY()+20, gap-16, "middle", m.kinds("ListingStreaming", "paged"))
	c.arrow("faultline", point{streaming.x + 30, streaming.bottom()}, point{streaming.x + 30, 326}, point{210, 326},
		point{210, off.centerY() - 10}, point{off.x, off.centerY() - 10})
	label(streaming.x+22, 318, 60, "end", m.kinds("ListingStreaming", "wait, list"))
	side := paged.right()
	c.arrow("faultline", point{side - 30, paged.bottom()}, point{side - 30, 326}, point{side + 30, 326},
		point{side + 30, off.centerY()}, point{off.right(), off.centerY()})
	label(paged.right()+40, 470, 120, "start", m.kinds("ListingPaged", "wait, list"))
	c.arrow("faultline", point{watching.centerX(), watching.bottom()}, point{watching.centerX(), off.y})
	label(watching.centerX()+10, 474, 150, "start", m.kinds("Watching", "wait, watch", "wait, list", "wait, latest"))
	c.arrow("faultline", point{connecting.x + 50, connecting.bottom()}, point{connecting.x + 50, off.y})
	label(connecting.x+40, 474, 200, "end", m.kinds("Connecting", "wait, watch", "wait, list", "wait, latest"))
	m.kinds("ListingPaged", "-")
	m.kinds("Connecting", "-")
}
