package main

import (
	"context"
	"sync"

	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
)

// crossed has a boundary for each layer, in the order in which a change crosses them.
var crossed = []look.Boundary{
	look.Decoded, look.Handed, look.Popped, look.Stored, look.Called, look.Queued, look.Decided,
}

// recorder keeps what the layers report, for the demo to tell.
type recorder struct {
	mu      sync.Mutex // guards what follows
	events  []look.Event
	changed chan struct{} // closed and replaced at each report
}

func newRecorder() *recorder { return &recorder{changed: make(chan struct{})} }

func (r *recorder) record(events ...look.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, events...)
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

// looks gives the controller's reports about a key.
func (r *recorder) looks(key listwatch.Key) []look.Event {
	return r.since(0, key, func(e look.Event) bool { return e.At == look.Decided })
}

// since gives some of the reports about a key after mark.
func (r *recorder) since(mark int, key listwatch.Key, which func(look.Event) bool) (found []look.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events[mark:] {
		if e.Key == look.NameOf(key) && which(e) {
			found = append(found, e)
		}
	}
	return found
}

// crossing waits until the first change of this object since mark has crossed
// every layer, and gives one report a layer.
func (r *recorder) crossing(ctx context.Context, mark int, kind string, key listwatch.Key) ([]look.Event, error) {
	for {
		r.mu.Lock()
		story, changed := follow(r.events[mark:], kind, key), r.changed
		r.mu.Unlock()
		if len(story) == len(crossed) {
			return story, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return story, ctx.Err()
		}
	}
}

// follow picks, for each layer, the report that belongs to the change that came
// over the wire first. The layers run in goroutines of their own, so their
// reports of one change may come in any order up to the workqueue.
func follow(events []look.Event, kind string, key listwatch.Key) []look.Event {
	found := map[look.Boundary]look.Event{}
	for _, e := range events {
		_, again := found[e.At]
		wire, onTheWay := found[look.Decoded]
		switch {
		case again || e.Key != look.NameOf(key) || e.Kind != "" && e.Kind != kind:
		case e.At != look.Decoded && !onTheWay:
		case e.RV != "" && e.Kind != "" && onTheWay && e.RV != wire.RV:
		case e.At == look.Decided && found[look.Queued].At == "":
		default:
			found[e.At] = e
		}
	}
	var story []look.Event
	for _, at := range crossed {
		if e, ok := found[at]; ok {
			story = append(story, e)
		}
	}
	return story
}
