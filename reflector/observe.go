package reflector

import (
	"time"

	"glasswatch/listwatch"
)

// Boundary says what an [Observation] is about.
type Boundary uint8

const (
	// StateEntered: the state went from From to To, and is not acted on yet.
	StateEntered Boundary = iota + 1
	// EventsDecoded: Events came out of the stream. Those of a paged list do not.
	EventsDecoded
	// EventsHanded: the sink is given Events next.
	EventsHanded
	// ListHanded: the sink is given a list of ResourceVersion next. Keys are those of its objects, the unreadable
	// ones last.
	ListHanded
	// BookmarkHanded: the sink is given a bookmark of ResourceVersion next.
	BookmarkHanded
	// KeyHanded: the sink is given a deletion next whose object could not be read. Keys has its key.
	KeyHanded
)

// Observation is what [Options.Observe] is shown. Its slices are the observer's; the objects belong to the sink, so
// they are for reading only, during the call.
type Observation struct {
	Boundary        Boundary
	From, To        State
	Events          []listwatch.Event[listwatch.Object]
	Keys            []listwatch.Key
	ResourceVersion string
}

// show calls the observer, if there is one. The time that it takes does not count for the timeout of the watch.
func (r *Reflector[T]) show(o Observation) {
	if r.opts.Observe == nil {
		return
	}
	if s := r.stream; s != nil && s.overdue.Stop() {
		left := time.Until(s.deadline)
		defer func() {
			s.deadline = time.Now().Add(left)
			s.overdue.Reset(left)
		}()
	}
	r.opts.Observe(o)
}

// observeEvents shows events to the observer, if there is one.
func (r *Reflector[T]) observeEvents(at Boundary, events []listwatch.Event[T]) {
	if r.opts.Observe == nil {
		return
	}
	shown := make([]listwatch.Event[listwatch.Object], len(events))
	for i, ev := range events {
		shown[i] = listwatch.Event[listwatch.Object]{
			Type: ev.Type, ResourceVersion: ev.ResourceVersion, InitialEventsEnd: ev.InitialEventsEnd,
		}
		if ev.Type != listwatch.Bookmark { // which has no object, and a nil pointer in an interface is not nil
			shown[i].Object = ev.Object
		}
	}
	r.show(Observation{Boundary: at, Events: shown})
}

// observeList shows a list to the observer, if there is one.
func (r *Reflector[T]) observeList(items []T, keep []listwatch.Key, version string) {
	if r.opts.Observe == nil {
		return
	}
	keys := make([]listwatch.Key, 0, len(items)+len(keep))
	for _, obj := range items {
		keys = append(keys, listwatch.KeyOf(obj))
	}
	r.show(Observation{Boundary: ListHanded, Keys: append(keys, keep...), ResourceVersion: version})
}
