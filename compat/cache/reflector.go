package cache

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/naming"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"glasswatch/reflector"
	"glasswatch/reflector/backoff"
)

// StoreReflector keeps a ReflectorStore equal to the lists of a ListerWatcher. NewReflector and its variants return it,
// for other packages cannot fill in client-go's struct. The name Reflector stands for that struct, which watch-error
// handlers get. The exported fields must not be changed once it runs.
//
//	ListerWatcher ──bridge──▶ glasswatch/reflector ──storeSink──▶ ReflectorStore
//	                                   └──errorRouter──▶ log, watch-error handler
type StoreReflector struct {
	// WatchListPageSize is the limit of every paged list. 0: pages where a server would read them from etcd anyway, else
	// everything at once.
	WatchListPageSize int64
	// ShouldResync is asked each time the resync period has passed whether to call the store's Resync. nil: yes.
	ShouldResync func() bool
	// MaxInternalErrorRetryDuration is how long InternalErrors of a watch are answered by another watch rather than a list.
	MaxInternalErrorRetryDuration time.Duration

	lw      ListerWatcher
	example any
	store   ReflectorStore
	options ReflectorOptions // Name, TypeDescription and Clock are filled in
	bridge  *bridge
	errors  errorRouter

	// native is nil before the first run, which reads the exported fields.
	native atomic.Pointer[reflector.Reflector[object]]

	running      chan struct{} // has a token while it runs
	run          reflectorRun  // of the run that put the token there
	resyncFailed chan error    // has an error that is to end the watch
}

// reflectorRun belongs to the goroutine that runs the reflector.
type reflectorRun struct {
	ctx      context.Context
	single   bool // ListAndWatch: the first failure ends the run
	end      context.CancelFunc
	relisted chan struct{} // has a token if a list was put into the store
	err      error         // what a single run ended with
}

// NewReflector is NewReflectorWithOptions with a resync period. The name is the file and line of the caller.
func NewReflector(lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *StoreReflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{ResyncPeriod: resyncPeriod})
}

// NewNamedReflector is NewReflectorWithOptions with a name and a resync period.
func NewNamedReflector(name string, lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *StoreReflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{Name: name, ResyncPeriod: resyncPeriod})
}

// NewNamespaceKeyedIndexerAndReflector returns an Indexer with an index by namespace, and a reflector that fills it.
func NewNamespaceKeyedIndexerAndReflector(lw ListerWatcher, expectedType any, resyncPeriod time.Duration) (indexer Indexer, reflector *StoreReflector) {
	indexer = NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	return indexer, NewReflector(lw, expectedType, indexer, resyncPeriod)
}

// minWatchTimeout is the least MinWatchTimeout that is honoured.
const minWatchTimeout = 5 * time.Minute

// skipped are the folders of packages that do not count as callers when a reflector gets the name of its caller's line. A
// checkout may have any name.
var skipped = []string{ownFolder(), "client-go/tools/cache/"}

func ownFolder() string {
	_, file, _, _ := runtime.Caller(0)
	return path.Dir(file) + "/"
}

// NewReflectorWithOptions returns a reflector that does nothing until it is run. Objects of another type than expectedType,
// which is an example, or if it is unstructured and has a kind, of another kind, are reported and left out; nil lets
// everything pass. A store that is a ReflectorBookmarkStore hears of bookmarks, and a ResourceVersionUpdater of each
// version a watch has reached. A TransformingStore transforms by itself, so nothing is transformed before it has it. The
// clock decides when to resync; waits after failures are real time.
func NewReflectorWithOptions(lw ListerWatcher, expectedType any, store ReflectorStore, options ReflectorOptions) *StoreReflector {
	if options.Name == "" {
		options.Name = naming.GetNameFromCallsite(skipped...)
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.MinWatchTimeout < minWatchTimeout {
		options.MinWatchTimeout = minWatchTimeout
	}
	r := &StoreReflector{
		lw: lw, example: expectedType, store: store,
		running: make(chan struct{}, 1), resyncFailed: make(chan error, 1),
	}
	r.bridge = newBridge(lw, expectedType, options.TypeDescription)
	r.bridge.interrupt = r.resyncFailed
	options.TypeDescription = r.bridge.what
	r.options = options
	r.errors = errorRouter{name: options.Name, what: options.TypeDescription, shell: sync.OnceValue(r.newShell)}
	return r
}

// newShell makes a Reflector of client-go that is never run. Watch-error handlers read its name and type.
func (r *StoreReflector) newShell() *Reflector {
	return clientgo.NewReflectorWithOptions(r.lw, r.example, r.store,
		clientgo.ReflectorOptions{Name: r.options.Name, TypeDescription: r.options.TypeDescription})
}

// Name returns the reflector's name.
func (r *StoreReflector) Name() string { return r.options.Name }

// TypeDescription describes the objects' type, for people.
func (r *StoreReflector) TypeDescription() string { return r.options.TypeDescription }

// LastSyncResourceVersion returns the resourceVersion that the store has reached; "" before the first list.
func (r *StoreReflector) LastSyncResourceVersion() string {
	if native := r.native.Load(); native != nil {
		return native.LastSyncResourceVersion()
	}
	return ""
}

func (r *StoreReflector) newNative() *reflector.Reflector[object] {
	sink := &storeSink{store: r.store, listed: r.listed}
	if updater, ok := r.store.(ResourceVersionUpdater); ok {
		r.bridge.beforeNext = func() { sink.tellVersion(updater, r.LastSyncResourceVersion()) }
	}
	opts := reflector.Options{
		Name:                  r.options.Name,
		Type:                  r.TypeDescription(),
		PageSize:              r.WatchListPageSize,
		DisableStreamingList:  !canStreamLists(r.lw),
		MinWatchTimeout:       r.options.MinWatchTimeout,
		MaxInternalErrorRetry: r.MaxInternalErrorRetryDuration,
		OnError:               r.onError,
	}
	reportReflectorMetrics(r.options.Name, &opts, &r.native)
	if r.options.Backoff != nil {
		opts.Delay = r.options.Backoff.DelayWithReset(r.options.Clock, backoff.DefaultReset)
	}
	return reflector.New(r.bridge, sink, opts)
}

// RunWithContext keeps the store equal to the server until ctx ends. A second run waits for the first. It returns when its goroutines have ended, except
// for those in a list function that ignores its context, or for more than a second in a watch function.
func (r *StoreReflector) RunWithContext(ctx context.Context) {
	// If the store panics, and panics do not end the process, a list follows after a second.
	wait.UntilWithContext(ctx, func(ctx context.Context) { _ = r.serve(ctx, false) }, time.Second)
}

// Run is RunWithContext with a channel instead of a context.
func (r *StoreReflector) Run(stopCh <-chan struct{}) {
	r.RunWithContext(wait.ContextForChannel(stopCh))
}

// ListAndWatchWithContext lists and then watches. It ends with ctx, or at a failure after which a list or a wait must
// follow. It returns an error if the list failed or the watch was refused, and else nil.
func (r *StoreReflector) ListAndWatchWithContext(ctx context.Context) error {
	return r.serve(ctx, true)
}

// ListAndWatch is ListAndWatchWithContext with a channel instead of a context.
func (r *StoreReflector) ListAndWatch(stopCh <-chan struct{}) error {
	return r.ListAndWatchWithContext(wait.ContextForChannel(stopCh))
}

// serve waits while the reflector runs already.
func (r *StoreReflector) serve(ctx context.Context, single bool) error {
	select {
	case r.running <- struct{}{}:
		defer func() { <-r.running }()
	case <-ctx.Done():
		return nil
	}
	if r.native.Load() == nil {
		r.native.CompareAndSwap(nil, r.newNative())
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	r.run = reflectorRun{ctx: ctx, single: single, end: cancel, relisted: make(chan struct{}, 1)}
	if r.options.ResyncPeriod > 0 {
		relisted := r.run.relisted
		wg.Go(func() { r.resync(ctx, relisted) })
	}
	r.takeFailedResync() // of a run before
	r.native.Load().Run(ctx)
	if r.bridge.beforeNext != nil { // of the event after which the run ended
		r.bridge.beforeNext()
	}
	return r.run.err
}

// onError is told of every error of the native reflector, in its goroutine.
func (r *StoreReflector) onError(ctx context.Context, err error) {
	failure := r.sort(ctx, err)
	if failure == nil {
		return
	}
	if r.run.single {
		retried := r.MaxInternalErrorRetryDuration > 0 && apierrors.IsInternalError(err)
		if !failure.waits && !retried {
			r.run.err = failure.handle
			r.run.end()
		}
	} else if failure.handle != nil {
		r.errors.tell(ctx, failure.handle)
	}
}

// sort is errorRouter's, but for a list that the store has refused. If that was a streaming one, a paged one follows at
// once, so it has not failed yet.
func (r *StoreReflector) sort(ctx context.Context, err error) *failure {
	refused, isStores := errors.AsType[*reflector.SinkError](err)
	switch {
	case !isStores || refused.Op != "Replace":
		return r.errors.sort(ctx, err)
	case r.native.Load().State() == reflector.ListingStreaming:
		r.errors.noStreamingList(ctx, refused.Err)
		return nil
	}
	return &failure{handle: fmt.Errorf("unable to sync list result: %w", refused.Err)}
}
