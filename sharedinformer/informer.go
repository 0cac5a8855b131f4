package sharedinformer

import (
	"context"
	"errors"
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
	"glasswatch/reflector"
)

type (
	key                              = listwatch.Key
	delta[T listwatch.Object]        = deltafifo.Delta[key, T]
	store[T listwatch.Object]        = indexer.Store[key, T]
	storeOp[T listwatch.Object]      = indexer.Op[key, T]
	inOrderQueue[T listwatch.Object] = deltafifo.InOrder[key, T]
	perKeyQueue[T listwatch.Object]  = deltafifo.DeltaFIFO[key, T]
)

// queue is what the informer asks of either kind of queue, popping apart.
type queue[T listwatch.Object] interface {
	reflector.Sink[T]
	Close()
	HasSynced() bool
	Synced() <-chan struct{}
	Len() int
}

// Informer keeps a local copy of one resource and tells any number of handlers of its changes.
//
//	reflector ──▶ queue ──▶ consumer ──▶ store ──▶ snapshots, listers
//	                ▲           └──┬──▶ backlog ─▶ goroutine ─▶ handler
//	   resync timer ┘              └──▶ backlog ─▶ goroutine ─▶ handler
//
// Its methods are safe for concurrent use.
type Informer[T listwatch.Object] struct {
	opts  Options[T]
	store *store[T]
	queue queue[T]
	// Exactly one of these is the queue.
	inOrder *inOrderQueue[T]
	perKey  *perKeyQueue[T]

	reflector *reflector.Reflector[T]
	relisted  chan struct{} // a list was put into the queue: the resync period begins anew
	synced    chan struct{} // closed once the first list is in the store
	done      chan struct{} // closed when Run returns

	objectErrors atomic.Uint64
	versions     versionWaiters

	errMu  sync.Mutex // protects failed
	failed []failedObject

	// mu spans the store's commit and the append to the backlogs, and likewise a handler's registration and its snapshot.
	// Index functions run under it (see doc.go); handlers do not. It protects everything below.
	mu        sync.Mutex
	listeners []*listener[T] // in the order of their registration
	started   bool
	stopped   bool
	// resyncCheck is how often the informer looks which handlers are due; 0 is never.
	// Invariant: does not change once started; no listener's resync is shorter, unless it is 0.
	resyncCheck time.Duration
	runCtx      context.Context // of the handlers' goroutines, for its logger; never cancelled
	handlers    sync.WaitGroup  // the handlers' goroutines

	// The consumer's scratch, reused from batch to batch.
	ops   []storeOp[T]
	batch []notification[T]
}

type failedObject struct {
	key key
	err error
}

// New returns an informer on lw, which lists and watches nothing before Run.
func New[T listwatch.Object](lw listwatch.ListerWatcher[T], opts Options[T]) *Informer[T] {
	if opts.Name == "" {
		opts.Name = typeName[T]()
	}
	i := &Informer[T]{
		opts:        opts,
		relisted:    make(chan struct{}, 1),
		synced:      make(chan struct{}),
		done:        make(chan struct{}),
		resyncCheck: max(opts.ResyncPeriod, 0),
	}
	keyFunc := func(obj T) (key, error) { return listwatch.KeyOf(obj), nil }
	i.store = indexer.New(indexer.Options[key, T]{
		KeyFunc:  keyFunc,
		Compare:  compareKeys,
		Indexers: withNamespaceIndex(opts.Indexers),
		OnError:  i.indexFailed,
	})
	queueOpts := deltafifo.Options[key, T]{
		KeyFunc:   keyFunc,
		Transform: opts.Transform,
		OnError:   i.objectFailed,
	}
	if opts.Queue == PerKey {
		queueOpts.Known = i.store
		i.perKey = deltafifo.NewDeltaFIFO(queueOpts)
		i.queue = i.perKey
	} else {
		i.inOrder = deltafifo.NewInOrder(queueOpts)
		i.queue = i.inOrder
	}
	reflectorOpts := opts.Reflector
	reflectorOpts.Name = opts.Name
	reflectorOpts.OnError = i.watchFailed
	reflectorOpts.ResyncPeriod = 0
	reflectorOpts.ShouldResync = nil
	into := reflector.Sink[T](sink[T]{i.queue, i.relisted})
	if opts.Trace != nil {
		into = tracingSink[T]{into, opts.Trace}
	}
	i.reflector = reflector.New(lw, into, reflectorOpts)
	return i
}

// sink is the queue as the reflector sees it.
type sink[T listwatch.Object] struct {
	queue[T]
	relisted chan struct{}
}

func (s sink[T]) Replace(objs []T, keep []key, resourceVersion string) error {
	err := s.queue.Replace(objs, keep, resourceVersion)
	select {
	case s.relisted <- struct{}{}:
	default:
	}
	return err
}

// Run lists, watches and calls handlers until ctx ends, and returns when every goroutine of the informer is gone, so not
// before the handlers have returned from the calls they are in. What waits for a handler then is dropped. An informer
// runs once: a second Run returns ErrStarted at once.
func (i *Informer[T]) Run(ctx context.Context) error {
	if !i.start(ctx) {
		return fmt.Errorf("informer %s: %w", i.opts.Name, ErrStarted)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer i.queue.Close() // releases the consumer
		i.reflector.Run(ctx)
	})
	wg.Go(func() { i.keepTime(ctx) })
	i.consume(ctx)
	i.versions.stop()
	wg.Wait()
	i.stop()
	close(i.done)
	return nil
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
	for _, l := range i.listeners {
		i.serveLocked(l)
	}
	return true
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
	var cause error
	select {
	case <-i.synced:
		return nil
	case <-i.done:
		cause = ErrStopped
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	if i.HasSynced() {
		return nil
	}
	if last := i.LastError(); last != nil {
		return fmt.Errorf("informer %s has not synced: %w: last error: %w", i.opts.Name, cause, last)
	}
	return fmt.Errorf("informer %s has not synced: %w", i.opts.Name, cause)
}

// Store returns the informer's store: for reading only, as handlers hear of nothing that others write to it.
func (i *Informer[T]) Store() *indexer.Store[listwatch.Key, T] { return i.store }

// AddIndexers adds indices to the store, before or while the informer runs. A name that exists is an error, as is a
// stopped informer, and nothing is changed.
func (i *Informer[T]) AddIndexers(indexers indexer.Indexers[T]) error {
	defer i.reportFailed()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped {
		return fmt.Errorf("informer %s: indexers not added: %w", i.opts.Name, ErrStopped)
	}
	return i.store.AddIndexers(indexers)
}

// LastSyncResourceVersion returns the resourceVersion up to which the reflector has read, "" before the first list. The
// store follows: its own is [indexer.Store.ResourceVersion], which stays "" with the per-key queue.
func (i *Informer[T]) LastSyncResourceVersion() string { return i.reflector.LastSyncResourceVersion() }

// LastError returns the last error of a list or watch, nil once it works again.
func (i *Informer[T]) LastError() error { return i.reflector.LastError() }

// watchFailed sorts the reflector's errors: those of single objects, and those of lists and watches.
func (i *Informer[T]) watchFailed(ctx context.Context, err error) {
	var unreadable *listwatch.ObjectError
	var refused *reflector.SinkError
	switch {
	case errors.As(err, &unreadable):
		i.objectFailed(unreadable.Key, err)
	case errors.As(err, &refused):
		i.objectFailed(refused.Key, err)
	case i.opts.WatchErrorHandler != nil:
		i.opts.WatchErrorHandler(ctx, err)
	default:
		reflector.LogError(ctx, i.opts.Name, err)
	}
}

// objectFailed counts and reports an object that could not be read or transformed. No lock may be held.
func (i *Informer[T]) objectFailed(k key, err error) {
	i.objectErrors.Add(1)
	if i.opts.OnObjectError != nil {
		i.opts.OnObjectError(k, err)
		return
	}
	klog.Background().Error(err, "Object left out", "informer", i.opts.Name, "key", k)
}

// indexFailed notes a failed index function. The store calls it while the informer's mutex is held: reportFailed tells the
// user later.
func (i *Informer[T]) indexFailed(k key, err error) {
	i.errMu.Lock()
	defer i.errMu.Unlock()
	i.failed = append(i.failed, failedObject{k, err})
}

// reportFailed reports what indexFailed noted. No lock may be held.
func (i *Informer[T]) reportFailed() {
	i.errMu.Lock()
	failed := i.failed
	i.failed = nil
	i.errMu.Unlock()
	for _, f := range failed {
		i.objectFailed(f.key, f.err)
	}
}

func withNamespaceIndex[T listwatch.Object](given indexer.Indexers[T]) indexer.Indexers[T] {
	all := indexer.Indexers[T]{NamespaceIndex: func(obj T, dst []string) ([]string, error) {
		return append(dst, obj.GetNamespace()), nil
	}}
	for name, f := range given {
		all[name] = f
	}
	return all
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
