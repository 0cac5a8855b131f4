package reflector

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/listwatch"
	"glasswatch/observe"
)

// Reflector keeps a [Sink] equal to what a [listwatch.ListerWatcher] lists. Make one with [New]. Its methods may be
// called from any goroutine.
type Reflector[T listwatch.Object] struct {
	lw      listwatch.ListerWatcher[T]
	sink    Sink[T]
	batches BatchSink[T] // sink, if it takes batches; else nil
	opts    Options
	running atomic.Bool

	// mu protects at, version, lastErr and stats. Only Run's goroutine writes them, so it reads them without mu.
	mu      sync.Mutex
	at      *state[T] // what the reflector is doing
	version string    // Invariant: the sink has everything up to here, but for what was reported.
	lastErr error
	stats   Stats

	// The fields from here on belong to the goroutine that is in Run.

	askLatest  bool        // The server does not have version: lists are without one until a list succeeds.
	rereadFrom string      // the version from which an unreadable event without a name was asked for again
	outages    int         // failures of watches in a row, without one that worked in between
	internal   errorWindow // 500s of watches
	pagedUntil time.Time   // Streaming lists are not tried before.
	// paginates: the server split a list at "0", which a watch cache never does. So it has none for this resource, and
	// relists gain nothing by asking for everything at once.
	paginates bool
	backoff   backoffTimer
}

// New returns a reflector that does nothing until Run. lw and sink must not be nil.
func New[T listwatch.Object](lw listwatch.ListerWatcher[T], sink Sink[T], opts Options) *Reflector[T] {
	var zero T
	opts = opts.withDefaults(fmt.Sprintf("%T", zero))
	r := &Reflector[T]{lw: lw, sink: sink, opts: opts, version: opts.ResumeFrom, at: &state[T]{name: Idle}}
	r.batches, _ = sink.(BatchSink[T])
	r.backoff.Backoff = opts.Backoff
	return r
}

// Run keeps the sink equal to the server until ctx is cancelled. It starts no goroutine. It may be run again, and then
// starts with a list, but not twice at once: that panics.
func (r *Reflector[T]) Run(ctx context.Context) {
	if !r.running.CompareAndSwap(false, true) {
		panic("reflector: " + r.opts.Name + " is running already")
	}
	defer func() {
		r.at.stream.close() // after a panic
		r.update(func() { r.at = stopped[T]() })
		r.running.Store(false)
	}()

	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "type", r.opts.Type))
	first := r.listing()
	if r.at.name == Idle {
		first = r.resuming()
	}
	r.enter(ctx, first)
	for r.at.name != Stopped {
		if ctx.Err() != nil {
			r.enter(ctx, stopped[T]())
			return
		}
		r.enter(ctx, r.at.step(ctx))
	}
}

// enter makes next visible, closes the stream that only the state before owned, and tells of a change.
func (r *Reflector[T]) enter(ctx context.Context, next *state[T]) {
	last := r.at
	if next == last { // as after most events
		return
	}
	r.update(func() {
		r.at = next
		if next.name == Watching {
			r.lastErr = nil
		}
	})
	if last.stream != next.stream {
		last.stream.close()
	}
	if last.name == next.name { // another list, or another request for a watch
		return
	}
	logTransition(ctx, r.opts.Name, last.name, next.name)
	if r.opts.OnTransition != nil {
		r.opts.OnTransition(last.name, next.name)
	}
	if r.opts.Observe != nil {
		r.observe(observation{Step: observe.Entered, Kind: next.name.String()})
	}
}

// listing is the state that a list starts in.
func (r *Reflector[T]) listing() *state[T] {
	if r.opts.DisableStreamingList || time.Now().Before(r.pagedUntil) {
		return r.listingPaged()
	}
	return r.listingStreaming()
}

// resuming is the state that gets the next watch. A watch from "" or "0" starts with what is there, but does not tell
// what is gone. So it may come right after a list, but nothing is resumed with it.
func (r *Reflector[T]) resuming() *state[T] {
	if isAny(r.version) {
		return r.listing()
	}
	return r.connecting()
}

// isAny: the server may take any version that it has, rather than this one.
func isAny(version string) bool { return version == "" || version == "0" }

// LastSyncResourceVersion is the version up to which the sink was given everything; "" before the first list.
func (r *Reflector[T]) LastSyncResourceVersion() string { return read(&r.mu, &r.version) }

// State is what the reflector is doing.
func (r *Reflector[T]) State() State { return read(&r.mu, &r.at).name }

// LastError is the last error of a list or watch; nil if Watching was entered since.
func (r *Reflector[T]) LastError() error { return read(&r.mu, &r.lastErr) }

// read returns what mu protects.
func read[V any](mu *sync.Mutex, field *V) V {
	mu.Lock()
	defer mu.Unlock()
	return *field
}

// update changes what mu protects.
func (r *Reflector[T]) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}
