package factory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/mutationdetect"
)

// ErrNoInformer: the factory has no such informer.
var ErrNoInformer = errors.New("no such informer")

// Options are what the informers of a factory share. The zero value gives informers on all namespaces, without
// resync.
type Options struct {
	// Name, if not empty, stands in front of the informers' own names: name/services.v1. It tells the metrics of two
	// factories apart if their names differ.
	Name string
	// Namespace narrows informers on namespaced resources. What the factory cannot know the scope of (no built-in type,
	// and no RESTMapper) counts as namespaced.
	Namespace string
	// DefaultResync is the resync period of the informers that Resync does not name by their type, such as
	// reflect.TypeFor[*corev1.Service]().
	DefaultResync time.Duration
	Resync        map[reflect.Type]time.Duration
	// Shard and OnForeign are every client's: see [listwatch.Options].
	Shard     shard.Selector
	OnForeign func()
	// TweakListOptions changes the options of every list and watch. It may be called from several goroutines. It must
	// leave ShardSelector alone, or each call fails and is tried again: that is what Shard is for.
	TweakListOptions func(opts *metav1.ListOptions)
	// Transform is every informer's: see [sharedinformer.Options]. What it returns must have the type of what it was
	// given.
	Transform func(obj listwatch.Object) (listwatch.Object, error)
	// TransformCopiesOnWrite says that Transform writes to nothing but the object's own fields, as
	// [glasswatch/sharedinformer/transform.StripManagedFields] does. A Transform that does not say so turns sharing
	// off, and so does any Transform for unstructured objects, whose fields are all in one map.
	TransformCopiesOnWrite bool
	// DisableSharing has each object decoded for itself. By default equal parts of the objects of one informer are in
	// memory once: see [glasswatch/listwatch/memo].
	DisableSharing bool
	// WatchErrorHandler and OnObjectError are every informer's, with its resource: see [sharedinformer.Options].
	WatchErrorHandler func(ctx context.Context, gvr schema.GroupVersionResource, err error)
	OnObjectError     func(gvr schema.GroupVersionResource, key listwatch.Key, err error)
	// RESTMapper finds resource and scope of types that are not built in; nil guesses the plural of the kind.
	RESTMapper meta.RESTMapper
	// Scheme knows the kinds of types that are not built in; nil is the client-go scheme.
	Scheme *runtime.Scheme
	// Queue and Reflector are every informer's: see [sharedinformer.Options].
	Queue     sharedinformer.QueueKind
	Reflector reflector.Options
	// OnMutation, if not nil, is told of each cached object that somebody modified, if Start started the informer: see
	// [mutationdetect.Detector], which takes as much memory again. With KUBE_CACHE_MUTATION_DETECTOR=true in the
	// environment and no OnMutation, the program panics at the first.
	OnMutation func(mutationdetect.Mutation)
	// Metrics, if not nil, is asked for the hooks of each informer by its name. It is called with the factory's lock
	// held and must not call the factory.
	Metrics func(informer string) sharedinformer.Metrics
}

// Factory shares one informer per type, and starts and stops them together. Its methods are safe for concurrent use.
type Factory struct {
	cfg  *rest.Config
	opts Options

	mu         sync.Mutex // protects what follows; held while an informer is made, never while one is waited for
	httpClient *http.Client
	entries    map[entryID]*entry
	shutDown   bool
	running    sync.WaitGroup // what was started; nothing is added once shutDown is set
}

// form tells apart informers on one resource with objects of different types. It ends the informer's name.
type form string

const (
	typed            form = ""
	builtinForm      form = " (generic)" // typed objects in an interface
	unstructuredForm form = " (unstructured)"
	metadataForm     form = " (metadata)"
)

type entryID struct {
	gvr  schema.GroupVersionResource
	form form
}

// name is the name of an informer: services.v1, ingresses.v1.networking.k8s.io (metadata).
func (id entryID) name() string { return resourceName(id.gvr) + string(id.form) }

// entry is one informer of a factory.
type entry struct {
	GenericInformer
	id       entryID
	run      func(context.Context) error
	cancel   context.CancelFunc // nil before it is started
	finished chan struct{}      // closed when a started informer has stopped
}

// New returns a factory of informers on the API server that cfg leads to. They share its connections and, unless
// cfg has a limit of its own or none (a negative QPS), one rate limit for lists. cfg must not be nil and is copied.
func New(cfg *rest.Config, opts Options) *Factory {
	cfg = rest.CopyConfig(cfg)
	if cfg.RateLimiter == nil && cfg.QPS >= 0 {
		cfg.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(
			cmp.Or(cfg.QPS, rest.DefaultQPS), cmp.Or(cfg.Burst, rest.DefaultBurst))
	}
	return &Factory{cfg: cfg, opts: opts, entries: map[entryID]*entry{}}
}

// Start starts the informers that were asked for and do not run yet, until ctx ends, and returns at once. An informer
// that is asked for later waits for the next Start. After Shutdown it does nothing.
func (f *Factory) Start(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shutDown {
		return
	}
	for _, e := range f.entries {
		if e.cancel != nil {
			continue
		}
		var informerCtx context.Context
		informerCtx, e.cancel = context.WithCancel(ctx)
		f.running.Go(func() {
			defer close(e.finished)
			defer e.cancel()
			_ = e.run(informerCtx) // can only say that it was started before, and it was not
		})
	}
}

// Shutdown stops all informers and returns when their goroutines are gone, so not before their handlers have returned
// from the calls they are in: a handler must not call it. The factory is of no use afterwards.
func (f *Factory) Shutdown() {
	f.mu.Lock()
	f.shutDown = true
	f.mu.Unlock()
	f.stopAll(f.sorted())
	f.running.Wait() // for those, too, that Stop is taking away at this moment
}

// Stop stops the informers on one resource, returns when their goroutines are gone and forgets them: their memory is
// free once the caller forgets them too, and the next one to ask for the resource gets a fresh informer. A handler of
// theirs must not call it. If there is none, the error is ErrNoInformer.
func (f *Factory) Stop(gvr schema.GroupVersionResource) error {
	return f.stop(gvr, typed, builtinForm, unstructuredForm, metadataForm)
}

// StopFor is Stop for the informer that InformerFor[T] returns.
func StopFor[T listwatch.Object](f *Factory) error {
	gvr, _, err := resourceOf[T](f)
	if err != nil {
		return err
	}
	return f.stop(gvr, typed)
}

func (f *Factory) stop(gvr schema.GroupVersionResource, forms ...form) error {
	var found []*entry
	f.mu.Lock()
	for _, form := range forms {
		id := entryID{gvr, form}
		if e := f.entries[id]; e != nil {
			found = append(found, e)
			delete(f.entries, id)
		}
	}
	f.mu.Unlock()
	if len(found) == 0 {
		return fmt.Errorf("%w on %s", ErrNoInformer, resourceName(gvr))
	}
	f.stopAll(found)
	return nil
}

// stopAll stops what was started, and waits. What was not is stopped for good, so that nobody waits for it in vain.
func (f *Factory) stopAll(entries []*entry) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, e := range entries {
		if e.cancel != nil {
			e.cancel()
		} else {
			_ = e.run(over) // can only say that it was stopped like this before
		}
	}
	for _, e := range entries {
		if e.cancel != nil {
			<-e.finished
		}
	}
}

// WaitForSync blocks until every informer that was started has its first list in its store, or ctx ends. Then the error
// names each informer that has not, and why, as far as is known.
func (f *Factory) WaitForSync(ctx context.Context) error {
	var errs []error
	for _, e := range f.sorted() {
		if e.cancel != nil {
			errs = append(errs, e.WaitForSync(ctx))
		}
	}
	return errors.Join(errs...)
}

// Stats returns the stats of every informer, in the order of their names.
func (f *Factory) Stats() []sharedinformer.Stats {
	stats := []sharedinformer.Stats{}
	for _, e := range f.sorted() {
		stats = append(stats, e.Stats())
	}
	return stats
}

// sorted returns copies of the entries as they are now, in the order of their names.
func (f *Factory) sorted() []*entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]*entry, 0, len(f.entries))
	for _, e := range f.entries {
		moment := *e
		all = append(all, &moment)
	}
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(a.Name(), b.Name()) })
	return all
}

// resourceName is a resource's name: services.v1, ingresses.v1.networking.k8s.io.
func resourceName(gvr schema.GroupVersionResource) string {
	name := gvr.Resource + "." + gvr.Version
	if gvr.Group != "" {
		name += "." + gvr.Group
	}
	return name
}
