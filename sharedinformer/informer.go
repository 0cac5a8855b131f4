package sharedinformer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"glasswatch/indexer"
	"glasswatch/listwatch"
)

// Informer keeps a local copy of one resource and tells any number of handlers of its changes. Its methods are safe
// for concurrent use.
type Informer[T listwatch.Object] struct {
	mirror[T]
	waitable                // the informer's own: its done closes after the controller's, and after the handlers
	allStored chan struct{} // the same channel as synced, to close it

	// mu spans the store's commit and the append to the backlogs, and likewise a handler's registration and its
	// snapshot. Handlers are called without it. It protects everything below.
	mu          sync.Mutex
	listeners   []*listener[T] // in the order of their registration
	started     bool
	stopped     bool
	batchStored chan struct{} // closed when the next batch is in the store; nil if nobody has asked
	// resyncCheck is how often the informer looks which handlers are due; 0 is never.
	// Invariant: does not change once started; no listener's resync is shorter, unless it is 0.
	resyncCheck time.Duration
	runCtx      context.Context // of the handlers' goroutines, for its logger; never cancelled
	handlers    sync.WaitGroup  // the handlers' goroutines
}

// New returns an informer on lw, which lists and watches nothing before Run.
func New[T listwatch.Object](lw listwatch.ListerWatcher[T], opts Options[T]) *Informer[T] {
	if opts.SyncGate == nil {
		open := make(chan struct{})
		close(open)
		opts.SyncGate = open
	}
	i := &Informer[T]{allStored: make(chan struct{})}
	i.init(lw, opts, i.process)
	i.waitable = i.controller.waitable
	i.synced, i.done = i.allStored, make(chan struct{})
	i.resyncCheck = i.cfg.ResyncPeriod
	i.cfg.ShouldResync = i.checkResync
	if opts.Feed != nil {
		i.feeder = opts.Feed(i.cfg)
	}
	return i
}

// Run lists, watches and calls handlers until ctx ends. It returns when every goroutine of the informer is gone, so not
// before the handlers have returned from the calls they are in. What waits for a handler then is dropped. An informer
// runs once: a second Run returns ErrStarted at once.
func (i *Informer[T]) Run(ctx context.Context) error {
	if !i.start(ctx) {
		return fmt.Errorf("%s: %w", i.who, ErrStarted)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // also when a panic passes
	var wg sync.WaitGroup
	wg.Go(func() { i.awaitSync(ctx) })
	err := i.controller.Run(ctx)
	cancel()
	wg.Wait()
	i.stop() // after the controller: nothing is told to handlers that are gone
	close(i.done)
	return err
}

// start sets the listeners going. It returns false if the informer was started before.
func (i *Informer[T]) start(ctx context.Context) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.started {
		return false
	}
	i.started = true
	i.runCtx = context.WithoutCancel(ctx)
	i.cfg.ResyncPeriod = i.resyncCheck
	for _, l := range i.listeners {
		i.serveLocked(l)
	}
	return true
}

// process takes a batch over: the store first, then the handlers' backlogs. With the per-key queue, its lock is held.
func (i *Informer[T]) process(batch []delta[T], isInInitialList bool) error {
	isInInitialList = isInInitialList || !isClosed(i.opts.SyncGate)
	version := func() string {
		i.mu.Lock()
		defer i.mu.Unlock() // also when a hook panics
		if i.opts.Observe != nil {
			i.opts.Observe(popped(i.opts.Name, batch, isInInitialList))
		}
		notes, version := i.apply(batch, isInInitialList)
		if i.opts.Observe != nil {
			i.opts.Observe(stored(i.opts.Name, i.ops, version, isInInitialList))
		}
		i.distributeLocked(notes)
		if i.batchStored != nil {
			close(i.batchStored)
			i.batchStored = nil
		}
		return version
	}()
	if tell := i.opts.Metrics.StoreResourceVersion; tell != nil && version != "" {
		tell(version)
	}
	return nil
}

// awaitSync tells everybody that the first list is in the store, once it is and Options.SyncGate is open.
func (i *Informer[T]) awaitSync(ctx context.Context) {
	for _, gate := range []<-chan struct{}{i.cfg.Queue.Synced(), i.opts.SyncGate} {
		select {
		case <-gate:
		case <-ctx.Done():
			return
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.allStored)
	for _, l := range i.listeners {
		l.markUpstreamSynced()
	}
}

// stop ends the listeners and waits for their goroutines.
func (i *Informer[T]) stop() {
	i.mu.Lock()
	i.stopped = true
	for _, l := range i.listeners {
		l.drop(fmt.Errorf("handler %s: %w", l.name, ErrStopped))
	}
	i.listeners = nil
	i.mu.Unlock()
	i.handlers.Wait()
}

// Stopped reports whether the informer ran and takes no more handlers. Those it has may still be in their last calls:
// see [Informer.Done].
func (i *Informer[T]) Stopped() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stopped
}

// AddIndexers adds indices to the store, before or while the informer runs. A name that exists is an error, as is a
// stopped informer, and nothing is changed. Objects that an index function fails on are reported to OnObjectError.
func (i *Informer[T]) AddIndexers(indexers indexer.Indexers[T]) error {
	defer i.reportFailures()
	if i.Stopped() {
		return fmt.Errorf("%s: indexers not added: %w", i.who, ErrStopped)
	}
	return i.store.AddIndexers(indexers)
}
