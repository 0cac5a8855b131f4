package reflector

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"glasswatch/listwatch"
)

// Reflector keeps a [Sink] equal to what a [listwatch.ListerWatcher] lists. Make one with [New]. Its methods may be called
// from any goroutine.
type Reflector[T listwatch.Object] struct {
	lw   listwatch.ListerWatcher[T]
	sink Sink[T]
	// batches is the sink, if it takes batches; else nil.
	batches BatchSink[T]
	opts    Options

	running  atomic.Bool
	state    atomic.Uint32
	counters counters

	// mu protects version and lastErr. Only Run's goroutine writes them.
	mu      sync.Mutex
	version string // Invariant: the sink has everything up to here, but for what was reported.
	lastErr error

	run runState[T]
}

// runState belongs to the goroutine that is in Run.
type runState[T listwatch.Object] struct {
	// synced is called with each list that went to the sink.
	synced func()

	backoff  backoffTimer
	wait     time.Duration // what BackingOff waits
	next     State         // what BackingOff is left for
	internal errorWindow

	// atLatest: the server does not have the last resourceVersion; the next list is without one. Until a list succeeds.
	atLatest bool
	// pagedUntil: streaming lists are not tried before.
	pagedUntil time.Time
	// rereadFrom is the version from which a nameless unreadable event was asked for again. It is not a second time.
	rereadFrom string
	// relisted: a list was turned down for an item that does not tell its name. The next one is taken as it is.
	relisted bool
	// paginates: the server split a list at "0", which a watch cache never does. So it has none for this resource, and
	// relists gain nothing by asking for everything at once.
	paginates bool

	listStart time.Time      // of the list under way
	pages     *pages[T]      // the list that ListingPaged is in the middle of
	initial   *initialSet[T] // the list that ListingStreaming is in the middle of
	stream    *openStream[T] // Invariant: not nil in Watching, and in ListingStreaming if initial is not nil.
}

// New returns a reflector that does nothing until Run. lw and sink must not be nil.
func New[T listwatch.Object](lw listwatch.ListerWatcher[T], sink Sink[T], opts Options) *Reflector[T] {
	var zero T
	r := &Reflector[T]{lw: lw, sink: sink, opts: opts.withDefaults(fmt.Sprintf("%T", zero)), version: opts.ResumeFrom}
	r.batches, _ = sink.(BatchSink[T])
	r.run.backoff.Backoff = r.opts.Backoff
	return r
}

// Run keeps the sink equal to the server until ctx is cancelled. It returns when every goroutine it started is gone. It
// may be run again, and then starts with a list, but not twice at once: that panics.
func (r *Reflector[T]) Run(ctx context.Context) {
	if !r.running.CompareAndSwap(false, true) {
		panic("reflector: " + r.opts.Name + " is running already")
	}
	ctx, cancel := context.WithCancel(ctx)
	var resync resyncer
	defer func() {
		cancel()
		r.closeStream()
		resync.wg.Wait()
		r.state.Store(uint32(Stopped))
		r.running.Store(false)
		if resync.panicked != nil {
			panic(resync.panicked)
		}
	}()
	r.run.synced = func() { r.beginResync(ctx, &resync, cancel) }
	r.run.pages, r.run.initial, r.run.relisted = nil, nil, false

	for next := r.firstState(); ; next = r.step(ctx, next) {
		r.enter(next)
		if next == Stopped {
			return
		}
	}
}

// step does what one state asks for and returns the state that follows. It blocks for a request, an event or a wait, and
// returns Stopped soon after ctx is cancelled.
func (r *Reflector[T]) step(ctx context.Context, s State) State {
	if ctx.Err() != nil {
		return Stopped
	}
	switch s {
	case ListingStreaming:
		return r.listStreaming(ctx)
	case ListingPaged:
		return r.listPaged(ctx)
	case Connecting:
		return r.connect(ctx)
	case Watching:
		return r.watch(ctx)
	case BackingOff:
		return r.sitOut(ctx)
	}
	return Stopped
}

// enter makes s visible.
func (r *Reflector[T]) enter(s State) {
	from := r.State()
	if from == s {
		return // as with each event; nobody but Run's goroutine changes it
	}
	r.state.Store(uint32(s))
	if r.opts.OnTransition != nil {
		r.opts.OnTransition(from, s)
	}
}

func (r *Reflector[T]) firstState() State {
	if r.State() == Idle && r.opts.ResumeFrom != "" {
		r.run.synced()
		return Connecting
	}
	return r.listing()
}

// listing is the state that a list starts in.
func (r *Reflector[T]) listing() State {
	if r.opts.DisableStreamingList || time.Now().Before(r.run.pagedUntil) {
		return ListingPaged
	}
	return ListingStreaming
}

// backOff plans the wait after err. next is what comes after it.
func (r *Reflector[T]) backOff(err error, next State) State {
	if r.opts.Delay != nil {
		r.run.wait = max(r.opts.Delay(), retryAfter(err))
	} else {
		r.run.wait = r.run.backoff.next(time.Now(), retryAfter(err))
	}
	r.run.next = next
	return BackingOff
}

// sitOut is BackingOff.
func (r *Reflector[T]) sitOut(ctx context.Context) State {
	timer := time.NewTimer(r.run.wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Stopped
	case <-timer.C:
		return r.run.next
	}
}

// fail records and reports an error of a list or watch.
func (r *Reflector[T]) fail(ctx context.Context, err error) {
	r.counters.failures.Add(1)
	r.setLastError(err)
	r.report(ctx, err)
}

func (r *Reflector[T]) report(ctx context.Context, err error) {
	if r.opts.OnError != nil {
		r.opts.OnError(ctx, err)
		return
	}
	LogError(ctx, r.opts.Name, err)
}

func (r *Reflector[T]) reportSink(ctx context.Context, err *SinkError) {
	r.counters.sinkErrors.Add(1)
	r.report(ctx, err)
}

// LastSyncResourceVersion is the version up to which the sink was given everything; "" before the first list.
func (r *Reflector[T]) LastSyncResourceVersion() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version
}

// State is what the reflector is doing.
func (r *Reflector[T]) State() State { return State(r.state.Load()) }

// LastError is the last error of a list or watch; nil if a watch was answered since.
func (r *Reflector[T]) LastError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastErr
}

func (r *Reflector[T]) setVersion(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = version
}

func (r *Reflector[T]) setLastError(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastErr = err
}
