package sharedinformer_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	compat "glasswatch/compat/cache"
)

// BenchmarkEvent: one update of one of 10,000 pods from the watch through reflector, queue, store and two indices to the
// calls of all handlers.
//
// With source=watch-… everybody pulls the same events out of a client-go watch.Interface. With source=pull-stream the
// typed layers pull decoded events out of a stream of ours, in whose Next nobody waits but once a window; client-go and the
// facade, which have no such door, are fed from a watch.Interface as in watch-buffer-100. impl=floor takes the events from
// the same source and calls the handlers in place: no reflector, queue, store or goroutine per handler.
//
// Every handler is called with every event, but for impl=folding: there calls/event is the share of the events that a
// handler was called with.
func BenchmarkEvent(b *testing.B) {
	for _, s := range sources {
		for _, handlers := range []int{1, 10} {
			b.Run(fmt.Sprintf("source=%s/handlers=%d", s.name, handlers), func(b *testing.B) {
				benchEvent(b, s, handlers, 10_000)
			})
		}
	}
}

// BenchmarkEventBySize is BenchmarkEvent with more and fewer objects in the store.
func BenchmarkEventBySize(b *testing.B) {
	for _, objects := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("objects=%d", objects), func(b *testing.B) { benchEvent(b, sources[0], 1, objects) })
	}
}

// source is where events come from.
type source struct {
	name   string
	buffer int  // of the watch's channel
	pull   bool // for impl=glasswatch and impl=floor there is no channel
}

var sources = []source{
	{name: "watch-buffer-100", buffer: 100}, // as the watches of client-go's fake clientset have
	{name: "watch-unbuffered"},              // as those of its real client have
	{name: "pull-stream", buffer: 100, pull: true},
}

func benchEvent(b *testing.B, s source, handlers, objects int) {
	bench := func(impl string, run func(b *testing.B, s source, w *world)) {
		b.Run("impl="+impl, func(b *testing.B) { run(b, s, newWorld(objects, handlers)) })
	}
	bench("glasswatch", func(b *testing.B, s source, w *world) {
		if s.pull {
			batches := make(chan []watch.Event)
			defer w.runOurs(b, pullSource(w, batches), false)()
			w.pumpBatches(b, batches)
			return
		}
		events := make(chan watch.Event, s.buffer)
		defer w.runOurs(b, watchSource(w, events), false)()
		w.pump(b, events)
	})
	if s.pull {
		bench("folding", func(b *testing.B, _ source, w *world) {
			batches := make(chan []watch.Event)
			defer w.runOurs(b, pullSource(w, batches), true)()
			before, sent := w.calls(), w.sent
			w.pumpBatches(b, batches)
			events := float64((w.sent - sent) * handlers)
			b.ReportMetric(float64(w.calls()-before)/events, "calls/event")
		})
	}
	bench("client-go", func(b *testing.B, s source, w *world) {
		events := make(chan watch.Event, s.buffer)
		defer w.runTheirs(b, clientgo.NewSharedIndexInformer, events)()
		w.pump(b, events)
	})
	bench("compat", func(b *testing.B, s source, w *world) {
		events := make(chan watch.Event, s.buffer)
		defer w.runTheirs(b, compat.NewSharedIndexInformer, events)()
		w.pump(b, events)
	})
	bench("floor", benchFloor)
}

func benchFloor(b *testing.B, s source, w *world) {
	done := make(chan struct{})
	defer func() { <-done }()
	if s.pull {
		batches := make(chan []watch.Event)
		go func() {
			defer close(done)
			for batch := range batches {
				for _, ev := range batch {
					w.tellAll(ev)
				}
			}
		}()
		w.pumpBatches(b, batches)
		close(batches)
		return
	}
	events := make(chan watch.Event, s.buffer)
	go func() {
		defer close(done)
		for ev := range events {
			w.tellAll(ev)
		}
	}()
	w.pump(b, events)
	close(events)
}

// window is how many events come between two that every handler must answer: at most three windows are under way, so that
// backlogs do not just grow, and the pipeline is never empty.
const window = 512

// pump sends the events one by one into a watch's channel.
func (w *world) pump(b *testing.B, events chan<- watch.Event) {
	b.ReportAllocs()
	runtime.GC() // what was built is not swept while something is measured
	n := 0
	for b.Loop() {
		if n%window == 0 {
			w.nextWindow()
		}
		events <- w.batch[n%window]
		n++
	}
	if n %= window; n > 0 {
		for _, ev := range w.batch[n:] {
			events <- ev
		}
	}
	w.drain()
}

// pumpBatches sends them a window at a time: they wait, decoded, where Next finds them.
func (w *world) pumpBatches(b *testing.B, batches chan<- []watch.Event) {
	b.ReportAllocs()
	runtime.GC() // what was built is not swept while something is measured
	n := 0
	for b.Loop() {
		if n%window == 0 {
			w.nextWindow()
			batches <- w.batch
		}
		n++
	}
	w.drain()
}

// startRun calls run in a goroutine; end cancels its context and returns when it has returned.
func startRun(run func(ctx context.Context)) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); run(ctx) }()
	return ctx, func() { cancel(); <-done }
}
