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

	// The fields from here on belong to the goroutine that is in Run.

	askLatest  bool           // Lists ask for the latest state, until one succeeds: see the table in errors.go.
	rereadFrom string         // the version from which an unreadable event without a name was asked for again
	outages    int            // failures of watches in a row, without one that worked in between
	internal   backoff.Window // 500s of watches
	pagedUntil time.Time      // Streaming lists are not tried before.
	backoff    backoff.Timer
	// The server split a list at any version, which a watch cache never does: see listPaged.
	noWatchCache bool
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
	first := r.listing()
	if r.current.name == Idle {
		first = r.resuming()
	}
	r.enter(ctx, first)
	for ctx.Err() == nil {
		r.enter(ctx, r.current.step(ctx))
	}
	r.enter(ctx, stopped[T]())
	r.log(ctx, 3, "Stopping reflector")
}

// enter makes next visible, closes the stream that only the state before owned, and tells of a change.
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
	if isListing(next.name) && !isListing(last.name) {
		r.log(ctx, 3, "Listing and watching")
	}
	if r.opts.OnTransition != nil {
		r.opts.OnTransition(last.name, next.name)
	}
	r.observe(observe.Entered, observation{Kind: next.name.String()})
}

func isListing(s State) bool { return s == ListingStreaming || s == ListingPaged }

// listing is the state that a list starts in.
func (r *Reflector[T]) listing() *state[T] {
	if r.opts.DisableStreamingList || time.Now().Before(r.pagedUntil) {
		return r.listingPaged()
	}
	return r.listingStreaming()
}

// resuming is the state that gets the next watch. Only a watch from a known version tells what is gone. Another one may
// come right after a list, but nothing is resumed with it.
func (r *Reflector[T]) resuming() *state[T] {
	if !isKnown(r.version) {
		return r.listing()
	}
	return r.connecting()
}

// What the server takes for a resourceVersion in a request, and never gives to an object.
const (
	anyVersion    = "0" // of a list or watch: whatever the server has at hand, such as its cache
	latestVersion = ""  // of a list: the latest state
	noVersion     = ""  // of a Reflector: there was no list yet, or it had no version. A watch from there is from any.
)

// isKnown reports whether a version is one that a server gave.
func isKnown(version string) bool { return version != noVersion && version != anyVersion }

// LastSyncResourceVersion is the version up to which the sink was given everything; "" before the first list.
func (r *Reflector[T]) LastSyncResourceVersion() string { return read(&r.mu, &r.version) }

// Stats returns the counters of this moment.
func (r *Reflector[T]) Stats() Stats { return read(&r.mu, &r.stats) }

// State is what the reflector is doing.
func (r *Reflector[T]) State() State { return read(&r.mu, &r.current).name }

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

// log logs what is no error, with client-go's keys and levels, so that the logs of both read alike.
func (r *Reflector[T]) log(ctx context.Context, level int, message string, more ...any) {
	logger := klog.FromContext(ctx).V(level)
	logger.Info(message, append([]any{"reflector", r.opts.Name}, more...)...)
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
