package reflector

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"glasswatch/listwatch"
)

// Reflector keeps a [Sink] equal to what a [listwatch.ListerWatcher] lists. Make one with [New]. Its methods may be
// called from any goroutine.
type Reflector[T listwatch.Object] struct {
	lw   listwatch.ListerWatcher[T]
	sink Sink[T]
	// batches is the sink, if it takes batches; else nil.
	batches BatchSink[T]
	opts    Options
	running atomic.Bool

	// mu protects state, version, lastErr and stats. Only Run's goroutine writes them, so it reads them without mu.
	mu      sync.Mutex
	state   State
	version string // Invariant: the sink has everything up to here, but for what was reported.
	lastErr error
	stats   Stats

	// The fields from here on belong to the goroutine that is in Run.

	backoff  backoffTimer
	wait     time.Duration // what BackingOff waits
	next     State         // what BackingOff is left for
	internal errorWindow
	outages  int // watches since the last one that worked that could not be had, or failed in an outage

	// askLatest: the server does not have the last resourceVersion. Lists are without one until a list succeeds.
	askLatest bool
	// rereadFrom is the version from which an unreadable event without a name was asked for again.
	rereadFrom string
	// pagedUntil: streaming lists are not tried before.
	pagedUntil time.Time
	// paginates: the server split a list at "0", which a watch cache never does. So it has none for this resource, and
	// relists gain nothing by asking for everything at once.
	paginates bool

	listStart time.Time      // of the list under way
	stream    *openStream[T] // Invariant: not nil in Watching; nil on entering the others, but for Stopped.
}

// New returns a reflector that does nothing until Run. lw and sink must not be nil.
func New[T listwatch.Object](lw listwatch.ListerWatcher[T], sink Sink[T], opts Options) *Reflector[T] {
	var zero T
	opts = opts.withDefaults(fmt.Sprintf("%T", zero))
	r := &Reflector[T]{lw: lw, sink: sink, opts: opts, version: opts.ResumeFrom}
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
		_ = r.closeStream(nil)
		r.update(func() { r.state = Stopped })
		r.running.Store(false)
	}()

	next := r.listing()
	if r.state == Idle {
		next = r.resuming()
	}
	for next != Stopped {
		if next != r.state { // not so with each event
			r.enter(next)
		}
		// A state blocks for a request, an event or a wait, and ends soon after ctx is cancelled.
		switch {
		case ctx.Err() != nil:
			next = Stopped
		case next == ListingStreaming:
			next = r.listStreaming(ctx)
		case next == ListingPaged:
			next = r.listPaged(ctx)
		case next == Connecting:
			next = r.connect(ctx)
		case next == Watching:
			next = r.watch(ctx)
		case next == BackingOff:
			select {
			case <-ctx.Done():
			case <-time.After(r.wait):
				next = r.next
			}
		}
	}
	r.enter(Stopped)
}

// enter makes s visible.
func (r *Reflector[T]) enter(s State) {
	from := r.state
	r.update(func() {
		r.state = s
		if s == Watching {
			r.lastErr = nil
		}
	})
	if r.opts.OnTransition != nil {
		r.opts.OnTransition(from, s)
	}
	if r.opts.Observe != nil {
		r.observe(Observation{Boundary: StateEntered, State: s})
	}
}

// listing is the state that a list starts in.
func (r *Reflector[T]) listing() State {
	if r.opts.DisableStreamingList || time.Now().Before(r.pagedUntil) {
		return ListingPaged
	}
	return ListingStreaming
}

// backOff plans the wait after err. next is what comes after it.
func (r *Reflector[T]) backOff(err error, next State) State {
	r.next = next
	seconds, _ := apierrors.SuggestsClientDelay(err)
	retryAfter := time.Duration(seconds) * time.Second
	if r.opts.Delay != nil {
		r.wait = max(r.opts.Delay(), retryAfter)
	} else {
		r.wait = r.backoff.next(time.Now(), retryAfter)
	}
	return BackingOff
}

// LastSyncResourceVersion is the version up to which the sink was given everything; "" before the first list.
func (r *Reflector[T]) LastSyncResourceVersion() string { return read(&r.mu, &r.version) }

// State is what the reflector is doing.
func (r *Reflector[T]) State() State { return read(&r.mu, &r.state) }

// LastError is the last error of a list or watch; nil if a watch was answered since.
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
