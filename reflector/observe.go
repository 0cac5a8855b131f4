package reflector

import (
	"time"

	"glasswatch/listwatch"
)

// Boundary says what an [Observation] is about.
type Boundary uint8

const (
	// StateEntered: the reflector is in State, and has not acted on it yet.
	StateEntered Boundary = iota + 1
	// EventsDecoded: Events came out of the stream. Paged lists have no events.
	EventsDecoded
	// HandedOver: the sink is called next.
	HandedOver
)

// Observation is what [Options.Observe] is shown. Its slices belong to the observer. The objects belong to the sink:
// they are for reading only, during the call.
type Observation struct {
	Boundary Boundary
	State    State
	// Op is the method of the sink that is called next: Replace, Bookmark or DeleteKey. It is "" for Events, which say
	// by their types what becomes of them.
	Op string
	// Events are changes, and in EventsDecoded bookmarks as well.
	Events          []listwatch.Event[listwatch.Object]
	Keys            []listwatch.Key // those of a list that is handed over, or the one of DeleteKey
	ResourceVersion string          // goes with Op; DeleteKey itself is not given it
}

// observeCall shows the observer, if there is one, which method of the sink is called next.
func (r *Reflector[T]) observeCall(op string, keys []listwatch.Key, version string) {
	if r.opts.Observe != nil {
		r.observe(Observation{Boundary: HandedOver, Op: op, Keys: keys, ResourceVersion: version})
	}
}

// observe calls the observer, which must be there. The time that it takes does not count as silence of the server.
func (r *Reflector[T]) observe(o Observation) {
	if s := r.at.stream; s != nil {
		left := time.Until(s.deadline)
		s.timer.Stop()
		defer s.setDeadline(left)
	}
	r.opts.Observe(o)
}

// shown returns events as an observer sees them.
func shown[T listwatch.Object](events []listwatch.Event[T]) []listwatch.Event[listwatch.Object] {
	out := make([]listwatch.Event[listwatch.Object], len(events))
	for i, ev := range events {
		out[i].Type, out[i].ResourceVersion, out[i].InitialEventsEnd = ev.Type, ev.ResourceVersion, ev.InitialEventsEnd
		if isChange(ev.Type) { // Leave a bookmark's object unset: a typed nil is not == nil.
			out[i].Object = ev.Object
		}
	}
	return out
}

// Stats counts what a reflector has done since New.
type Stats struct {
	StreamingLists uint64 // streaming lists that were complete
	PagedLists     uint64 // paged lists that were complete
	ListedObjects  uint64 // objects in those lists, unreadable ones included
	Watches        uint64 // watches that the server answered, without streaming lists
	EndedWatches   uint64 // watches that have ended, the second halves of streaming lists among them
	ShortWatches   uint64 // those of less than a second without anything worth having
	Events         uint64 // objects passed on from a watch
	Bookmarks      uint64 // bookmarks passed on
	OldVersions    uint64 // events and bookmarks older than what was there, and bookmarks without a version
	ObjectErrors   uint64 // events and list items that could not be read
	SinkErrors     uint64 // errors of the sink
	Failures       uint64 // errors of lists and watches

	ListTime  time.Duration // what the complete lists took, all together
	WatchTime time.Duration // what the ended watches took, all together
}

// Stats may be called at any time from any goroutine.
func (r *Reflector[T]) Stats() Stats { return read(&r.mu, &r.stats) }
