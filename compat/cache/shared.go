package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/features"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/mutationdetect"
)

// sharedIndexInformer shows a sharedinformer.Informer as client-go's SharedIndexInformer.
type sharedIndexInformer struct {
	native  *sharedinformer.Informer[object]
	run     func(context.Context) error // native's, with a mutation detector if there is one
	indexer *indexStore[listwatch.Key, object]
	lw      ListerWatcher
	example runtime.Object
	errors  errorRouter

	mu      sync.Mutex // protects started, and before it is set transform and errors.handler
	started bool
	// transform is nil or TransformFunc. It does not change once started is set.
	transform TransformFunc

	// sharing is nil, or calls transform for objects that share parts.
	sharing *sharedTransform
	early   *earlyTransform
}

// NewSharedInformer is NewSharedIndexInformer without indices.
func NewSharedInformer(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration) SharedInformer {
	return NewSharedIndexInformer(lw, exampleObject, defaultEventHandlerResyncPeriod, Indexers{})
}

// NewSharedIndexInformer is NewSharedIndexInformerWithOptions with a resync period and indices. It has the type of
// controller-runtime's cache.Options.NewInformer.
func NewSharedIndexInformer(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers Indexers) SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, exampleObject, SharedIndexInformerOptions{
		ResyncPeriod: defaultEventHandlerResyncPeriod,
		Indexers:     indexers,
	})
}

// NewSharedIndexInformerWithOptions returns an informer on lw, which lists and watches nothing before it is run.
// Objects of another type than exampleObject's are reported and left out; nil accepts every type with metadata.
//
// A handler gets every change, and its backlog has no bound. For a handler that may be served otherwise, assert
//
//	interface {
//		AddBoundedEventHandler(ResourceEventHandler, sharedinformer.HandlerOptions) (ResourceEventHandlerRegistration, error)
//	}
func NewSharedIndexInformerWithOptions(lw ListerWatcher, exampleObject runtime.Object, options SharedIndexInformerOptions) SharedIndexInformer {
	lw, own := decodesAnswers(lw)
	s := &sharedIndexInformer{lw: lw, example: exampleObject}
	var example any // a nil interface, and not one that holds a nil interface
	if exampleObject != nil {
		example = exampleObject
	}
	b := newBridge(lw, example, options.ObjectDescription)
	if own != nil && b.decodeAnswers(own) {
		s.sharing = &sharedTransform{sharing: own.Sharing}
	}
	s.errors = errorRouter{name: b.what, what: b.what, shell: sync.OnceValue(s.newShell)}
	s.early = &earlyTransform{transform: s.transformed, wanted: func() bool { return s.transform != nil }, shared: s.sharing}
	b.early = s.early
	nativeOptions := sharedinformer.Options[object]{
		Name:              b.what,
		ResyncPeriod:      options.ResyncPeriod,
		Indexers:          nativeIndexers[object](options.Indexers),
		Transform:         b.early.object,
		WatchErrorHandler: s.watchFailed,
		OnObjectError:     s.objectFailed,
		Queue:             queueKind(),
		Metrics:           nativeMetrics(options),
		Reflector:         reflector.Options{Type: b.what, DisableStreamingList: !canStreamLists(lw)},
	}
	s.run = func(ctx context.Context) error { return s.native.Run(ctx) }
	if mutationdetect.Wanted() {
		detector := mutationdetect.New(b.what, nil)
		nativeOptions.BeforeStore = detector.BeforeStore
		s.run = func(ctx context.Context) error { return detector.Run(ctx, s.native.Run) }
	}
	s.native = sharedinformer.New(b, nativeOptions)
	if _, wanted := options.Indexers[NamespaceIndex]; !wanted {
		// AddIndexers may bring one of that name.
		_ = s.native.Store().RemoveIndexers(sharedinformer.NamespaceIndex)
	}
	s.indexer = newIndexStore(s.native.Store(), nameShape[object](), options.Indexers)
	return s
}

// queueKind follows the gate InOrderInformers. AtomicFIFO does not matter: the in-order queue takes over a list in one
// step anyway. Without AtomicFIFO client-go's store has no version; here the store does that.
func queueKind() sharedinformer.QueueKind {
	if features.FeatureGates().Enabled(features.InOrderInformers) {
		return sharedinformer.InOrder
	}
	return sharedinformer.PerKey
}

// nativeMetrics feeds the metrics that the provider in options, or the global one, has for options.Identifier.
func nativeMetrics(options SharedIndexInformerOptions) sharedinformer.Metrics {
	if providerFor(options.Identifier, options.InformerMetricsProvider) == nil {
		return sharedinformer.Metrics{}
	}
	queue := newQueueMetrics(options.Identifier, options.InformerMetricsProvider)
	version := newVersionMetric(options.Identifier, options.InformerMetricsProvider)
	return sharedinformer.Metrics{
		Queued:    queue.setQueued,
		Processed: func(took time.Duration) { queue.observe(took.Seconds()) },
		StoreResourceVersion: func(resourceVersion string) {
			version.update(func() string { return resourceVersion })
		},
	}
}

// newShell makes the Reflector for watch-error handlers. It is never run.
func (s *sharedIndexInformer) newShell() *Reflector {
	return clientgo.NewReflectorWithOptions(s.lw, s.example, s.indexer,
		clientgo.ReflectorOptions{Name: s.errors.name, TypeDescription: s.errors.what})
}

func (s *sharedIndexInformer) transformed(obj object) (object, error) {
	if s.transform == nil {
		return obj, nil
	}
	var out any
	var err error
	if s.sharing != nil && s.sharing.sharing.HasShared() {
		out, err = s.sharing.call(s.transform, obj)
	} else {
		out, err = s.transform(obj)
	}
	if err != nil {
		return nil, err
	}
	changed, ok := out.(object)
	if !ok || isNilPointer(changed) {
		return nil, fmt.Errorf("the transform returned a %T without metadata", out)
	}
	return changed, nil
}

func (s *sharedIndexInformer) watchFailed(ctx context.Context, err error) {
	if failure := s.errors.sort(ctx, err); failure != nil && failure.handle != nil {
		s.errors.tell(ctx, failure.handle)
	}
}

func (s *sharedIndexInformer) objectFailed(key listwatch.Key, err error) {
	utilruntime.HandleErrorWithContext(context.Background(), err, "Object left out or not indexed", "informer", s.errors.name, "object", klog.KRef(key.Namespace, key.Name))
}

// beforeStart does what can be done only before the informer runs.
func (s *sharedIndexInformer) beforeStart(set func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errors.New("informer has already started")
	}
	set()
	return nil
}

// SetWatchErrorHandler is SetWatchErrorHandlerWithContext for a handler that takes no context.
func (s *sharedIndexInformer) SetWatchErrorHandler(handler WatchErrorHandler) error {
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext sets the handler for failed lists and refused watches. It gets a Reflector with name
// and type, and without a resourceVersion.
func (s *sharedIndexInformer) SetWatchErrorHandlerWithContext(handler WatchErrorHandlerWithContext) error {
	return s.beforeStart(func() { s.errors.handler = handler })
}

// SetTransform sets the function that changes each object before the store and the handlers get it.
func (s *sharedIndexInformer) SetTransform(handler TransformFunc) error {
	return s.beforeStart(func() { s.transform = reportingPanics(handler) })
}

// Run is RunWithContext with a channel instead of a context.
func (s *sharedIndexInformer) Run(stopCh <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext runs the informer until ctx ends, and returns when every handler has returned from its last call. A second
// call returns at once.
func (s *sharedIndexInformer) RunWithContext(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx)
	if err := s.beforeStart(func() { s.started = true }); err != nil {
		klog.FromContext(ctx).Info("Warning: an informer is run a second time, which does nothing", "informer", s.errors.name)
		return
	}
	s.early.runs(true)
	defer s.early.runs(false)
	_ = s.run(ctx) // the one error is that it runs already
}

// HasStarted reports whether the informer runs or has run. No interface has it: assert interface{ HasStarted() bool }.
func (s *sharedIndexInformer) HasStarted() bool {
	return s.beforeStart(func() {}) != nil
}

// HasSynced reports whether the first list is in the store. Handlers may have seen less of it.
func (s *sharedIndexInformer) HasSynced() bool { return s.native.HasSynced() }

// HasSyncedChecker is done when HasSynced turns true.
func (s *sharedIndexInformer) HasSyncedChecker() DoneChecker {
	return namedChannel{s.checkerName, s.native.Synced()}
}

func (s *sharedIndexInformer) checkerName() string {
	return fmt.Sprintf("SharedIndexInformer %T", s.example)
}

// LastSyncResourceVersion returns the resourceVersion that lists and watches have reached; the store follows.
func (s *sharedIndexInformer) LastSyncResourceVersion() string {
	return s.native.LastSyncResourceVersion()
}

// Stats returns the counters of this moment. No interface has it: assert interface{ Stats() sharedinformer.Stats }. What
// GetController returns has it as well, also that of an informer in a wrapper.
func (s *sharedIndexInformer) Stats() sharedinformer.Stats { return s.native.Stats() }

// LastError returns the last error of a list or watch, nil once it works again. No interface has it, as with Stats.
func (s *sharedIndexInformer) LastError() error { return s.native.LastError() }

// IsStopped reports whether the informer ran and has ended.
func (s *sharedIndexInformer) IsStopped() bool { return s.native.Stopped() }

// GetStore returns the informer's store. Handlers get no events for writes of the caller.
func (s *sharedIndexInformer) GetStore() Store { return s.indexer }

// GetIndexer returns the informer's store. Handlers get no events for writes of the caller.
func (s *sharedIndexInformer) GetIndexer() Indexer { return s.indexer }

// AddIndexers adds indices, before or while the informer runs.
func (s *sharedIndexInformer) AddIndexers(indexers Indexers) error {
	if s.IsStopped() {
		return errors.New("indexer was not added because it has stopped already")
	}
	err := s.indexer.AddIndexers(indexers)
	_ = s.native.AddIndexers(nil) // reports the objects that the functions failed on
	return err
}

// GetController returns a controller that reports whether the informer has synced, and cannot be run.
func (s *sharedIndexInformer) GetController() Controller { return sharedController{s} }

type sharedController struct{ *sharedIndexInformer }

// Run does nothing.
func (sharedController) Run(<-chan struct{}) {}

// RunWithContext does nothing.
func (sharedController) RunWithContext(context.Context) {}

// LastSyncResourceVersion is the informer's, or nothing if client-go's gate InformerResourceVersion is off.
func (c sharedController) LastSyncResourceVersion() string {
	if !features.FeatureGates().Enabled(features.InformerResourceVersion) {
		return ""
	}
	return c.sharedIndexInformer.LastSyncResourceVersion()
}
