package sharedinformer

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/deltafifo"
	"glasswatch/indexer"
	"glasswatch/listwatch"
)

type (
	key                         = listwatch.Key
	delta[T listwatch.Object]   = deltafifo.Delta[key, T]
	store[T listwatch.Object]   = indexer.Store[key, T]
	storeOp[T listwatch.Object] = indexer.Op[key, T]
)

// Informer keeps a local copy of one resource and tells any number of handlers of its changes.
//
//	reflector ──▶ queue ──▶ consumer ──▶ store ──▶ snapshots, listers
//	                ▲           └──┬──▶ backlog ─▶ goroutine ─▶ handler
//	   resync timer ┘              └──▶ backlog ─▶ goroutine ─▶ handler
//
// Its methods are safe for concurrent use.
type Informer[T listwatch.Object] struct {
	pipeline[T]
	lw       listwatch.ListerWatcher[T]
	running  atomic.Pointer[Controller[T]] // nil before Run
	versions versionWaiters

	// feed, if not nil, makes what takes the reflector's place.
	feed func(ControllerConfig[T]) Feeder

	synced chan struct{} // closed once the first list is in the store
	done   chan struct{} // closed when Run returns

	// mu spans the store's commit and the append to the backlogs, and likewise a handler's registration and its snapshot.
	// Index functions of what is stored run under it (see doc.go); handlers do not. It protects everything below.
	mu        sync.Mutex
	listeners []*listener[T] // in the order of their registration
	names     nameSet        // the listeners'
	started   bool
	stopped   bool
	// resyncCheck is how often the informer looks which handlers are due; 0 is never.
	// Invariant: does not change once started; no listener's resync is shorter, unless it is 0.
	resyncCheck time.Duration
	runCtx      context.Context // of the handlers' goroutines, for its logger; never cancelled
	handlers    sync.WaitGroup  // the handlers' goroutines

	// lagging are the listeners that were removed while a batch was processed. Only the consumer touches it.
	lagging []*listener[T]
}

// New returns an informer on lw, which lists and watches nothing before Run.
func New[T listwatch.Object](lw listwatch.ListerWatcher[T], opts Options[T]) *Informer[T] {
	i := &Informer[T]{
		synced:      make(chan struct{}),
		done:        make(chan struct{}),
		resyncCheck: max(opts.ResyncPeriod, 0),
	}
	i.feed = opts.Feed
	i.mayRepeat = true // handlers are told later, and the store applies changes of a key in order
	i.lw = i.init(lw, opts)
	return i
}

// Run lists, watches and calls handlers until ctx ends, and returns when every goroutine of the informer is gone, so not
// before the handlers have returned from the calls they are in. What waits for a handler then is dropped. An informer
// runs once: a second Run returns ErrStarted at once.
func (i *Informer[T]) Run(ctx context.Context) error {
	controller := i.start(ctx)
	if controller == nil {
		return fmt.Errorf("informer %s: %w", i.opts.Name, ErrStarted)
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-i.queue.Synced():
			if i.awaitGate(ctx) {
				i.markSynced()
			}
		case <-ctx.Done():
		}
	})
	err := controller.Run(ctx)
	cancel()
	wg.Wait()
	i.versions.stop()
	i.stop() // after the controller, so that nothing is told to handlers that are gone
	close(i.done)
	return err
}

// start makes the controller and sets the listeners going. It returns nil if the informer was started before.
func (i *Informer[T]) start(ctx context.Context) *Controller[T] {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.started {
		return nil
	}
	i.started = true
	i.runCtx = context.WithoutCancel(ctx)
	controller := i.controller(i.lw, i.process, i.opts.Reflector)
	controller.cfg.ResyncPeriod = i.resyncCheck
	controller.cfg.ShouldResync = func() bool { return i.resyncDue(time.Now()) }
	controller.afterPop = i.afterPop
	if i.feed != nil {
		controller.reflector = i.feed(controller.cfg)
	}
	i.running.Store(controller)
	for _, l := range i.listeners {
		i.serveLocked(l)
	}
	return controller
}

// process takes a batch over. With the per-key queue, its lock is held.
func (i *Informer[T]) process(batch []delta[T], isInInitialList bool) error {
	i.applier.compare(batch)
	isInInitialList = isInInitialList || i.opts.SyncGate != nil && !isClosed(i.opts.SyncGate)
	i.mu.Lock()
	if i.opts.Observe != nil {
		i.opts.Observe(popped(i.opts.Name, batch, isInInitialList))
	}
	notes, version := i.applier.apply(batch, isInInitialList)
	if i.opts.Observe != nil {
		i.opts.Observe(stored(i.opts.Name, i.applier.ops, version, isInInitialList))
	}
	i.distributeLocked(notes)
	i.mu.Unlock()
	i.versions.moved(version)
	i.measure(version)
	if i.opts.Trace != nil {
		i.traceBatch(batch)
	}
	i.applier.release()
	return nil
}

// afterPop reports what process could not, because of the locks that are held then.
func (i *Informer[T]) afterPop() {
	i.reportFailed()
	for _, l := range i.lagging {
		klog.FromContext(i.runCtx).Error(l.Err(), "Handler removed", "informer", i.opts.Name)
	}
	i.lagging = nil
}

// awaitGate blocks until Options.SyncGate is open. It returns false if ctx ends first.
func (i *Informer[T]) awaitGate(ctx context.Context) bool {
	if i.opts.SyncGate == nil {
		return true
	}
	select {
	case <-i.opts.SyncGate:
		return true
	case <-ctx.Done():
		return false
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

// markSynced opens synced and tells the listeners that their initial lists are complete.
func (i *Informer[T]) markSynced() {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.synced)
	for _, l := range i.listeners {
		l.markUpstreamSynced()
	}
}

// Name returns the informer's name.
func (i *Informer[T]) Name() string { return i.opts.Name }

// HasSynced reports whether the first list is in the store.
func (i *Informer[T]) HasSynced() bool { return isClosed(i.synced) }

// Synced is closed once the first list is in the store. The handlers may have seen less of it: see [Registration.Synced].
func (i *Informer[T]) Synced() <-chan struct{} { return i.synced }

// Done is closed when Run has returned.
func (i *Informer[T]) Done() <-chan struct{} { return i.done }

// WaitForSync blocks until the first list is in the store. If ctx ends or the informer stops first, it returns an error
// that names the informer and wraps the cause and, if lists or watches failed to the last, the last of their errors.
func (i *Informer[T]) WaitForSync(ctx context.Context) error {
	return syncWait{"informer " + i.opts.Name, i.synced, i.done, nil, i.LastError}.wait(ctx)
}

// Store returns the informer's store: for reading only, as handlers hear of nothing that others write to it.
func (i *Informer[T]) Store() *indexer.Store[listwatch.Key, T] { return i.store }

// AddIndexers adds indices to the store, before or while the informer runs. A name that exists is an error, as is a
// stopped informer, and nothing is changed.
func (i *Informer[T]) AddIndexers(indexers indexer.Indexers[T]) error {
	defer i.reportFailed()
	i.mu.Lock()
	stopped := i.stopped
	i.mu.Unlock()
	if stopped {
		return fmt.Errorf("informer %s: indexers not added: %w", i.opts.Name, ErrStopped)
	}
	// The store files while events and readers go on.
	return i.store.AddIndexers(indexers)
}

// LastSyncResourceVersion returns the resourceVersion up to which the reflector has read, "" before the first list. The
// store follows: its own is [indexer.Store.ResourceVersion], which stays "" with the per-key queue.
func (i *Informer[T]) LastSyncResourceVersion() string {
	if c := i.running.Load(); c != nil {
		return c.LastSyncResourceVersion()
	}
	return i.opts.Reflector.ResumeFrom
}

// LastError returns the last error of a list or watch, nil once it works again.
func (i *Informer[T]) LastError() error {
	if c := i.running.Load(); c != nil {
		return c.LastError()
	}
	return nil
}

func compareKeys(a, b key) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// typeName is T's name without its package and pointer: Service for *corev1.Service.
func typeName[T listwatch.Object]() string {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
