package main

import (
	"context"
	"sync"

	"glasswatch/controller/ingress"
	"glasswatch/listwatch"
)

// layers in the order in which a change crosses them.
var layers = []string{"listwatch", "reflector", "deltafifo", "indexer", "sharedinformer", "workqueue", "controller"}

// recorder keeps what the layers report, for the demo to tell.
type recorder struct {
	mu      sync.Mutex // guards what follows
	traces  []ingress.Trace
	changed chan struct{} // closed and replaced at each report
}

func newRecorder() *recorder { return &recorder{changed: make(chan struct{})} }

func (r *recorder) record(t ingress.Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.traces = append(r.traces, t)
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.traces)
}

// looks gives the controller's reports about a key.
func (r *recorder) looks(key listwatch.Key) []ingress.Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	var looks []ingress.Trace
	for _, t := range r.traces {
		if t.Layer == "controller" && t.Key == key {
			looks = append(looks, t)
		}
	}
	return looks
}

// crossing waits until the first change of this object since mark has crossed
// every layer, and gives one report a layer.
func (r *recorder) crossing(ctx context.Context, mark int, kind string, key listwatch.Key) ([]ingress.Trace, error) {
	for {
		r.mu.Lock()
		story, changed := follow(r.traces[mark:], kind, key), r.changed
		r.mu.Unlock()
		if len(story) == len(layers) {
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
func follow(traces []ingress.Trace, kind string, key listwatch.Key) []ingress.Trace {
	found := map[string]ingress.Trace{}
	for _, t := range traces {
		_, again := found[t.Layer]
		wire, onTheWay := found[layers[0]]
		switch {
		case again || t.Key != key || t.Kind != "" && t.Kind != kind:
		case t.Layer != layers[0] && !onTheWay:
		case t.ResourceVersion != "" && t.Kind != "" && onTheWay && t.ResourceVersion != wire.ResourceVersion:
		case t.Layer == "workqueue" && t.Action != "Add": // taken, forgotten or put off
		case t.Layer == "controller" && found["workqueue"].Layer == "":
		default:
			found[t.Layer] = t
		}
	}
	var story []ingress.Trace
	for _, layer := range layers {
		if t, ok := found[layer]; ok {
			story = append(story, t)
		}
	}
	return story
}
