package lens

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/format"
	"maps"
	"slices"
	"strconv"
	"strings"

	"glasswatch/internal/lens/look"
)

// Observed is what was observed of each object, named "Service default/web", and of each key of the workqueue, named
// "default/web": a line for each boundary, and there for each handler. It leaves out what may differ when a session is
// played again: batches, times, the order of events at different boundaries, and resourceVersions. These are counted
// for each object.
type Observed map[string][]string

// lane is one line of what was observed.
type lane struct {
	object, handler string
	at              look.Boundary
}

func objectOf(e *look.Event) string { return strings.TrimSpace(e.Kind + " " + e.Key) }

func observed(events []look.Event) Observed {
	versions := map[string][]int{} // by object
	for _, e := range events {
		for _, text := range []string{e.RV, e.Old} {
			if rv, err := strconv.Atoi(text); err == nil {
				versions[objectOf(&e)] = append(versions[objectOf(&e)], rv)
			}
		}
	}
	for object, all := range versions {
		slices.Sort(all)
		versions[object] = slices.Compact(all)
	}
	lanes := map[lane][]string{}
	for _, e := range events {
		if e.Key != "" {
			l := lane{objectOf(&e), e.Handler, e.At}
			lanes[l] = append(lanes[l], describe(e, versions[l.object]))
		}
	}
	all := Observed{}
	place := func(l lane) int { return slices.Index(look.Boundaries, l.at) }
	for _, l := range slices.SortedFunc(maps.Keys(lanes), func(a, b lane) int {
		return cmp.Or(place(a)-place(b), cmp.Compare(a.handler, b.handler))
	}) {
		name := strings.TrimSpace(string(l.at) + " " + l.handler)
		all[l.object] = append(all[l.object], name+": "+strings.Join(lanes[l], ", "))
	}
	return all
}

func describe(e look.Event, versions []int) string {
	text := e.Action
	for i, version := range []string{e.RV, e.Old} {
		if rv, err := strconv.Atoi(version); err == nil {
			place, _ := slices.BinarySearch(versions, rv)
			text += []string{" v", " was v"}[i] + strconv.Itoa(place+1)
		}
	}
	if e.Code != 0 {
		text += " " + strconv.Itoa(e.Code)
	}
	if e.Tombstone {
		text += " tombstone"
	}
	if e.Error != "" && e.Action != "failed" {
		text += " failed"
	}
	return text
}

// Replay plays a session in a world of its own, to its end. It is meant for a testing/synctest bubble.
func Replay(s Session) (Observed, error) {
	hub := look.NewHub()
	w, err := NewWorld(hub, s.Options, true)
	if err != nil {
		return nil, err
	}
	w.Start(s)
	defer w.Close()
	w.playing.Wait()
	w.await(s.End)
	return observedBy(hub)
}

// observedBy is what the ring has, if that is all there was.
func observedBy(hub *look.Hub) (Observed, error) {
	events, forgotten := hub.All()
	if forgotten > 0 {
		const why = "the first %d events are not known any more: want a session of %d at most"
		return nil, fmt.Errorf(why, forgotten, len(events))
	}
	return observed(events), nil
}

// Observed is what was observed in this world.
func (l *Lens) Observed() (Observed, error) { return observedBy(l.hub) }

const goTest = `package lens

import "testing"

// TestSession does in virtual time what was done in the lens. Each object must be observed as it was then.
func TestSession(t *testing.T) {
	replays(t, %s, map[string][]string{
`

// GoTest writes the session, and what was observed, as a test in the package tests/lens.
func (l *Lens) GoTest() ([]byte, error) {
	session := l.Session()
	all, err := l.Observed()
	if err != nil {
		return nil, err
	}
	literal, err := json.MarshalIndent(session, "", "\t")
	if err != nil {
		return nil, err
	}
	quoted := "`" + string(literal) + "`"
	if strings.Contains(string(literal), "`") {
		quoted = strconv.Quote(string(literal))
	}
	text := &strings.Builder{}
	fmt.Fprintf(text, goTest, quoted)
	for _, object := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(text, "%q: {\n", object)
		for _, line := range all[object] {
			fmt.Fprintf(text, "%q,\n", line)
		}
		text.WriteString("},\n")
	}
	text.WriteString("})\n}\n")
	return format.Source([]byte(text.String()))
}
