package sharedinformer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/deltafifo"
	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer/lister"
)

type (
	object                      = listwatch.Object
	key                         = listwatch.Key
	delta[T listwatch.Object]   = deltafifo.Delta[key, T]
	storeOp[T listwatch.Object] = indexer.Op[key, T]
)

// Informer keeps a local copy of one resource and tells any number of handlers of its changes. Its methods are safe
// for concurrent use.
//
// The informer's mutex is fanout.storeAndListeners. Locks are taken in this order: the per-key queue's, the informer's,
// then the store's or that of one backlog.
//
// The goroutine that calls Run is the consumer: it takes batches from the queue. Run starts one for the source, one that
// waits for the sync, one for the resync timer if there is a period, and one a handler.
type Informer[T listwatch.Object] struct {
	opts Options[T]

	// The four parts, in the order in which an event passes them.
	source Feeder
	queue  Queue[T]
	store  *indexer.Store[key, T]
	fanout fanout[T]

	writer       storeWriter[T] // the consumer's way into the store
	objectErrors objectErrors
	listPopped   chan struct{} // capacity 1: tells the resync timer to begin its period anew
	storeFinal   chan struct{} // closed when nothing writes the store any more
	life         lifecycle     // ends after the consumer, and after the handlers
}

// New returns an informer on lw, which lists and watches nothing before Run. It panics if lw is nil.
func New[T listwatch.Object](lw listwatch.ListerWatcher[T], opts Options[T]) *Informer[T] {
	if lw == nil {
		panic("sharedinformer: an informer needs a ListerWatcher")
	}
	opts.Name = cmp.Or(opts.Name, lister.KindOf[T]())
	if opts.SyncGate == nil {
		open := make(chan struct{})
		close(open)
		opts.SyncGate = open
	}
	i := &Informer[T]{
		opts:         opts,
		objectErrors: objectErrors{informer: opts.Name, handler: opts.OnObjectError},
		listPopped:   make(chan struct{}, 1),
		storeFinal:   make(chan struct{}),
	}
	i.store = newStore(opts.Indexers, i.objectErrors.keep)
	i.queue = newQueue(opts, i.store, i.objectErrors.report)
	i.source = i.newSource(lw)
	i.writer = newStoreWriter(opts, i.store)
	i.fanout = fanout[T]{informer: opts.Name, observe: opts.Observe, checkPeriod: max(opts.ResyncPeriod, 0)}
	i.life = lifecycle{
		who:       "informer " + opts.Name,
		synced:    make(chan struct{}),
		done:      make(chan struct{}),
		whyDone:   ErrStopped,
		lastError: i.source.LastError,
	}
	return i
}

// Run lists, watches and calls handlers until ctx ends, or until the Run of Options.Feed does. It returns when every
// goroutine of the informer is gone, so not before the handlers have returned from the calls they are in. What waits for
// a handler then is dropped. An informer runs once: a second Run returns ErrStarted at once.
func (i *Informer[T]) Run(ctx context.Context) error {
	alreadyStarted := i.fanout.start(ctx)
	if alreadyStarted {
		return fmt.Errorf("%s: %w", i.life.who, ErrStarted)
	}
	defer close(i.life.done)
	i.fillStore(ctx)
	i.fanout.goroutines.Wait()
	return nil
}

// fillStore runs everything but the handlers until ctx ends, or the source by itself. Then, in this order:
//
//  1. The source, the resync timer and awaitSync end, and the consumer after the batch that it is at. The end of the
//     source closes the queue, which releases a consumer that waits. What is left in the queue is dropped if ctx has
//     ended, and goes to the store first if the source ended by itself.
//  2. storeFinal closes: nothing writes the store any more.
//  3. The handlers' backlogs are dropped. Before this a handler could be told of one more batch.
//
// The deferred calls do that also if a hook panics or ends this goroutine, except that nobody waits for the source: the
// panic must end the program.
func (i *Informer[T]) fillStore(ctx context.Context) {
	defer i.fanout.dropAll()
	defer close(i.storeFinal)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer i.queue.Close()
		i.source.Run(ctx)
	})
	wg.Go(func() { i.awaitSync(ctx) })
	if i.fanout.checkPeriod > 0 {
		wg.Go(func() { i.runResyncTimer(ctx, i.fanout.checkPeriod) })
	}
	i.consume(ctx)
	cancel()
	wg.Wait()
}

// consume takes over what the queue gives until the queue is closed and empty, or ctx ends.
func (i *Informer[T]) consume(ctx context.Context) {
	process := i.process // here, as making a method value allocates
	for ctx.Err() == nil {
		err := i.pop(ctx, process)
		i.writer.release()
		i.objectErrors.reportKept() // here, as no lock is held
		switch {
		case errors.Is(err, deltafifo.ErrClosed):
			return
		case errors.Is(err, errHookPanicked): // without a pause that would fill the log
			pauseAfterCrash(ctx.Done())
		}
	}
}

// pop blocks for a batch and calls process. If that panics and utilruntime.HandleCrash lets the program live, the batch
// does not come again.
func (i *Informer[T]) pop(ctx context.Context, process func([]delta[T], bool) error) (err error) {
	err = errHookPanicked // stays if process does not return
	defer utilruntime.HandleCrashWithContext(ctx)
	return i.queue.PopBatch(process)
}

// process takes a batch over. With the per-key queue, its lock is held.
func (i *Informer[T]) process(batch []delta[T], isInInitialList bool) error {
	i.restartResyncAfterList(batch)
	version := i.storeAndDistribute(batch, isInInitialList)
	if i.opts.Metrics.StoreResourceVersion != nil && version != "" {
		i.opts.Metrics.StoreResourceVersion(version)
	}
	return nil
}

// storeAndDistribute writes a batch to the store, and tells of it those that wait for a resourceVersion and the handlers'
// backlogs. It calls Options.Observe and Options.BeforeStore, which may panic. What is in the store by then is told all
// the same.
func (i *Informer[T]) storeAndDistribute(batch []delta[T], isInInitialList bool) (version string) {
	i.fanout.storeAndListeners.Lock()
	defer i.fanout.storeAndListeners.Unlock()
	defer func() {
		i.fanout.wakeWaitersLocked()
		i.fanout.distributeLocked(i.writer.notes)
	}()
	// Until SyncGate is closed, every add is initial. awaitSync takes the mutex only after that. So these adds are in each
	// backlog before any handler can have synced.
	isInInitialList = isInInitialList || !isClosed(i.opts.SyncGate)
	if i.opts.Observe != nil {
		i.fanout.report(popped(batch, isInInitialList)...)
	}
	version = i.writer.apply(batch, isInInitialList)
	if i.opts.Observe != nil {
		i.fanout.report(stored(i.writer.ops, isInInitialList)...)
	}
	return version
}

// awaitSync tells everybody that the first list is in the store, once it is and Options.SyncGate is closed.
func (i *Informer[T]) awaitSync(ctx context.Context) {
	for _, gate := range []<-chan struct{}{i.queue.Synced(), i.opts.SyncGate} {
		select {
		case <-gate:
		case <-ctx.Done():
			return
		}
	}
	i.fanout.storeAndListeners.Lock()
	defer i.fanout.storeAndListeners.Unlock()
	close(i.life.synced)
	for _, l := range i.fanout.listeners {
		l.backlog.endInitialList()
	}
}

// Name returns the informer's name.
func (i *Informer[T]) Name() string { return i.opts.Name }

// LastSyncResourceVersion returns the resourceVersion up to which the queue was given everything, "" before the first
// list. The store follows: its own is [indexer.Store.ResourceVersion], which stays "" with the per-key queue.
func (i *Informer[T]) LastSyncResourceVersion() string { return i.source.LastSyncResourceVersion() }

// LastError returns the last error of a list or watch, nil once it works again.
func (i *Informer[T]) LastError() error { return i.source.LastError() }

// HasSynced reports whether Synced is closed.
func (i *Informer[T]) HasSynced() bool { return isClosed(i.life.synced) }

// Synced is closed once the first list is in the store. Handlers may not have been told yet: see [Registration.Synced].
func (i *Informer[T]) Synced() <-chan struct{} { return i.life.synced }

// Done is closed when Run returns. A handler must not wait for it: Run waits for the handlers.
func (i *Informer[T]) Done() <-chan struct{} { return i.life.done }

// WaitForSync blocks until Synced is closed. If ctx ends or the informer stops first, the error says so, and wraps the
// cause and, if lists or watches failed to the last, the last of their errors. A handler may call it: it does not wait
// for handlers.
func (i *Informer[T]) WaitForSync(ctx context.Context) error {
	return i.life.waitForSync(ctx, i.storeFinal)
}

// Stopped reports whether the informer ran and takes no more handlers. Those it has may still be in their last calls:
// see [Informer.Done].
func (i *Informer[T]) Stopped() bool {
	i.fanout.storeAndListeners.Lock()
	defer i.fanout.storeAndListeners.Unlock()
	return i.fanout.stopped
}
