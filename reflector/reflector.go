package reflector

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/listwatch"
	"glasswatch/observe"
	"glasswatch/reflector/backoff"
)

// Reflector keeps a [Sink] equal to what a [listwatch.ListerWatcher] lists. Make one with [New]. Its methods may be
// called from any goroutine.
type Reflector[T listwatch.Object] struct {
	lw      listwatch.ListerWatcher[T]
	sink    Sink[T]
	batches BatchSink[T] // sink, if it takes batches; else nil
	opts    Options
	running sync.Mutex // held by Run

	// mu protects current, version, lastErr and stats. Only Run's goroutine writes them, so it reads them without mu.
	mu      sync.Mutex
	current *state[T] // what the reflector is doing
	version string    // Invariant: the sink has everything up to here, but for what was reported.
	lastErr error
	stats   Stats

	// The rest is what Run's goroutine remembers from one state to the next.

	askLatest    bool           // Lists ask for the latest state, until one succeeds.
	noWatchCache bool           // The server split a list at any version, which a watch cache never does.
	rereadFrom   string         // the version from which an unreadable event was asked for again
	pagedUntil   time.Time      // Streaming lists are not tried before.
	outages      int            // counted for the limit upTo9Times
	internal     backoff.Window // measures for the limit forAWhile
	backoff      backoff.Timer
}

// New returns a reflector that does nothing until Run. lw and sink must not be nil.
func New[T listwatch.Object](lw listwatch.ListerWatcher[T], sink Sink[T], opts Options) *Reflector[T] {
	opts = opts.withDefaults(fmt.Sprintf("%T", *new(T)))
	r := &Reflector[T]{lw: lw, sink: sink, opts: opts, version: opts.ResumeFrom, current: &state[T]{name: Idle}}
	r.batches, _ = sink.(BatchSink[T])
	r.backoff = backoff.NewTimer(opts.Backoff)
	return r
}

// Run keeps the sink equal to the server until ctx is cancelled. It starts no goroutine. It may be run again, and then
// starts with a list, but not twice at once: that panics.
func (r *Reflector[T]) Run(ctx context.Context) {
	if !r.running.TryLock() {
		panic("reflector: " + r.opts.Name + " is running already")
	}
	defer r.running.Unlock()
	defer func() { // after a panic: otherwise the loop has stopped already
		r.current.stream.close()
		r.update(func() { r.current = stopped[T]() })
	}()

	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "type", r.opts.Type))
	r.log(ctx, 3, "Starting reflector")
	first := ListingStreaming
	if r.current.name == Idle {
		first = Connecting
	}
	r.enter(ctx, r.stateFor(first))
	for ctx.Err() == nil {
		next := r.current.step(ctx)
		r.enter(ctx, next)
	}
	r.enter(ctx, stopped[T]())
	r.log(ctx, 3, "Stopping reflector")
}

// enter makes next the current state, closes the stream that only the state before owned, and tells of a change.
func (r *Reflector[T]) enter(ctx context.Context, next *state[T]) {
	last := r.current
	if next == last { // Watching goes on, as after most events.
		return
	}
	r.update(func() {
		r.current = next
		if next.name == Watching {
			r.lastErr = nil
		}
	})
	if last.stream != next.stream {
		last.stream.close()
	}
	if last.name == next.name { // The state has got its answer, or is tried once more.
		return
	}
	if next.name.isListing() && !last.name.isListing() {
		r.log(ctx, 3, "Listing and watching")
	}
	if r.opts.OnTransition != nil {
		r.opts.OnTransition(last.name, next.name)
	}
	r.observeOne(observe.Entered, observation{Kind: next.name.String()})
}

// update changes what mu protects.
func (r *Reflector[T]) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// read returns what mu protects.
func read[V any](mu *sync.Mutex, field *V) V {
	mu.Lock()
	defer mu.Unlock()
	return *field
}

// LastSyncResourceVersion is the version up to which the sink was given everything; "" before the first list.
func (r *Reflector[T]) LastSyncResourceVersion() string { return read(&r.mu, &r.version) }

// State is what the reflector is doing.
func (r *Reflector[T]) State() State { return read(&r.mu, &r.current).name }

// LastError is the last error of a list or watch; nil if Watching was entered since.
func (r *Reflector[T]) LastError() error { return read(&r.mu, &r.lastErr) }

// Stats returns the counters of this moment.
func (r *Reflector[T]) Stats() Stats { return read(&r.mu, &r.stats) }
