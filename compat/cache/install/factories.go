package install

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/metadata/metadatalister"

	"glasswatch/compat/cache"
)

// NewDynamicFactory replaces dynamicinformer.NewFilteredDynamicSharedInformerFactory. Options has the namespace and the
// tweak; its objects share nothing.
func NewDynamicFactory(client dynamic.Interface, defaultResync time.Duration, options Options) dynamicinformer.DynamicSharedInformerFactory {
	if mustMode() == modeClientGo {
		return dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, defaultResync, options.Namespace, options.TweakListOptions)
	}
	return newFactory(func(gvr schema.GroupVersionResource) *genericInformer {
		of := client.Resource(gvr).Namespace(options.Namespace)
		lw := listWatchOf(client, options.TweakListOptions,
			func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) { return of.List(ctx, opts) },
			func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				return of.Watch(ctx, opts)
			})
		informer := open(lw, &unstructured.Unstructured{}, gvr, defaultResync)
		return &genericInformer{informer, dynamiclister.NewRuntimeObjectShim(dynamiclister.New(informer.GetIndexer(), gvr))}
	})
}

// NewMetadataFactory replaces metadatainformer.NewFilteredSharedInformerFactory. Options has the namespace and the
// tweak; its objects share nothing.
func NewMetadataFactory(client metadata.Interface, defaultResync time.Duration, options Options) metadatainformer.SharedInformerFactory {
	if mustMode() == modeClientGo {
		return metadatainformer.NewFilteredSharedInformerFactory(client, defaultResync, options.Namespace, options.TweakListOptions)
	}
	return newFactory(func(gvr schema.GroupVersionResource) *genericInformer {
		of := client.Resource(gvr).Namespace(options.Namespace)
		lw := listWatchOf(client, options.TweakListOptions,
			func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) { return of.List(ctx, opts) },
			func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				return of.Watch(ctx, opts)
			})
		informer := open(lw, &metav1.PartialObjectMetadata{}, gvr, defaultResync)
		return &genericInformer{informer, metadatalister.NewRuntimeObjectShim(metadatalister.New(informer.GetIndexer(), gvr))}
	})
}

func open(lw cache.ListerWatcher, example runtime.Object, gvr schema.GroupVersionResource, resync time.Duration) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformerWithOptions(lw, example, cache.SharedIndexInformerOptions{
		ResyncPeriod:      resync,
		Indexers:          cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		ObjectDescription: gvr.String(),
	})
}

type genericInformer struct {
	informer cache.SharedIndexInformer
	lister   cache.GenericLister
}

func (i *genericInformer) Informer() cache.SharedIndexInformer { return i.informer }
func (i *genericInformer) Lister() cache.GenericLister         { return i.lister }

// factory makes one informer for each resource.
type factory struct {
	open func(schema.GroupVersionResource) *genericInformer

	mu           sync.Mutex // protects what follows
	informers    map[schema.GroupVersionResource]*genericInformer
	started      map[schema.GroupVersionResource]bool
	shuttingDown bool
	running      sync.WaitGroup
}

func newFactory(open func(schema.GroupVersionResource) *genericInformer) *factory {
	return &factory{
		open:      open,
		informers: map[schema.GroupVersionResource]*genericInformer{},
		started:   map[schema.GroupVersionResource]bool{},
	}
}

// ForResource returns the informer of a resource. The next Start runs it.
func (f *factory) ForResource(gvr schema.GroupVersionResource) informers.GenericInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.informers[gvr] == nil {
		f.informers[gvr] = f.open(gvr)
	}
	return f.informers[gvr]
}

// Start runs the informers that do not run yet, until stopCh is closed. It does not block.
func (f *factory) Start(stopCh <-chan struct{}) {
	ctx := wait.ContextForChannel(stopCh)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shuttingDown {
		return
	}
	for gvr, i := range f.informers {
		if !f.started[gvr] {
			f.started[gvr] = true
			f.running.Go(func() { i.informer.RunWithContext(ctx) })
		}
	}
}

// WaitForCacheSync blocks until the informers that run have synced, or stopCh is closed, and returns which have.
func (f *factory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	f.mu.Lock()
	running := map[schema.GroupVersionResource]cache.SharedIndexInformer{}
	for gvr := range f.started {
		running[gvr] = f.informers[gvr].informer
	}
	f.mu.Unlock()
	synced := map[schema.GroupVersionResource]bool{}
	ctx := wait.ContextForChannel(stopCh)
	for gvr, informer := range running {
		synced[gvr] = cache.WaitFor(ctx, "", informer.HasSyncedChecker())
	}
	return synced
}

// Shutdown makes further Starts do nothing, and waits until the running informers have ended. For that the channels
// that they were started with must be closed.
func (f *factory) Shutdown() {
	f.mu.Lock()
	f.shuttingDown = true
	f.mu.Unlock()
	f.running.Wait()
}
