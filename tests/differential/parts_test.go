package differential

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/compat/cache"
)

// runner has the common methods of both sides' reflectors.
type runner interface {
	RunWithContext(ctx context.Context)
	LastSyncResourceVersion() string
}

// side makes the parts of one side.
type side struct {
	name       string
	reflector  func(lw clientgo.ListerWatcher, store clientgo.ReflectorStore) runner
	deltaFIFO  func(known clientgo.KeyListerGetter) clientgo.Queue
	realFIFO   func(opts clientgo.RealFIFOOptions) clientgo.Queue
	store      func() clientgo.Store
	controller func(c *clientgo.Config) clientgo.Controller
}

var theirs = side{
	name: "client-go",
	reflector: func(lw clientgo.ListerWatcher, store clientgo.ReflectorStore) runner {
		return clientgo.NewReflectorWithOptions(lw, &corev1.ConfigMap{}, store, clientgo.ReflectorOptions{ResyncPeriod: resyncPeriod})
	},
	deltaFIFO: func(known clientgo.KeyListerGetter) clientgo.Queue {
		return clientgo.NewDeltaFIFOWithOptions(clientgo.DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true})
	},
	realFIFO:   func(opts clientgo.RealFIFOOptions) clientgo.Queue { return clientgo.NewRealFIFOWithOptions(opts) },
	store:      func() clientgo.Store { return clientgo.NewStore(clientgo.DeletionHandlingMetaNamespaceKeyFunc) },
	controller: clientgo.New,
}

var ours = side{
	name: "ours",
	reflector: func(lw clientgo.ListerWatcher, store clientgo.ReflectorStore) runner {
		return cache.NewReflectorWithOptions(lw, &corev1.ConfigMap{}, store, cache.ReflectorOptions{ResyncPeriod: resyncPeriod})
	},
	deltaFIFO: func(known clientgo.KeyListerGetter) clientgo.Queue {
		return cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true})
	},
	realFIFO:   func(opts clientgo.RealFIFOOptions) clientgo.Queue { return cache.NewRealFIFOWithOptions(opts) },
	store:      func() clientgo.Store { return cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc) },
	controller: cache.New,
}

var sides = []side{theirs, ours}

// The kinds of queues. Only the atomic one tells the store of bookmarks.
var queueKinds = []string{"DeltaFIFO", "RealFIFO", "atomic RealFIFO"}

func (s side) queue(kind string, known clientgo.KeyListerGetter) clientgo.Queue {
	switch kind {
	case "DeltaFIFO":
		return s.deltaFIFO(known)
	case "RealFIFO":
		return s.realFIFO(clientgo.RealFIFOOptions{KeyFunction: clientgo.MetaNamespaceKeyFunc, KnownObjects: known})
	}
	return s.realFIFO(clientgo.RealFIFOOptions{
		KeyFunction: clientgo.MetaNamespaceKeyFunc, AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true,
	})
}

// choice says which side each part is of.
type choice struct{ reflector, queue, store, controller side }

func (c choice) String() string {
	return fmt.Sprintf("reflector=%s queue=%s store=%s controller=%s", c.reflector.name, c.queue.name, c.store.name, c.controller.name)
}

// assemble joins the parts.
func (c choice) assemble(kind string) build {
	return func(g *gate, h *recorder) stack {
		store := c.store.store()
		queue := c.queue.queue(kind, store)
		apply := applier{store, facadeHandler{h}}
		cfg := &clientgo.Config{
			Queue: queue, ListerWatcher: listerWatcher(g), ObjectType: &corev1.ConfigMap{}, FullResyncPeriod: resyncPeriod,
			Process: apply.process, ProcessBatch: apply.processBatch,
		}
		s := stack{contents: func() []string { return contents(store) }}
		if kind == "atomic RealFIFO" {
			s.storedUpTo = store.LastStoreSyncResourceVersion
		}
		if c.reflector.name == c.controller.name {
			controller := c.controller.controller(cfg)
			s.run, s.readUpTo = controller.RunWithContext, controller.LastSyncResourceVersion
			s.hasSynced, s.synced = controller.HasSynced, controller.HasSyncedChecker().Done()
			return s
		}
		reflector := c.reflector.reflector(listerWatcher(g), queue)
		cfg.ListerWatcher, cfg.FullResyncPeriod = mute(), 0
		controller := c.controller.controller(cfg)
		s.run = func(ctx context.Context) {
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() { reflector.RunWithContext(ctx) })
			controller.RunWithContext(ctx)
		}
		s.readUpTo = reflector.LastSyncResourceVersion
		s.hasSynced, s.synced = controller.HasSynced, controller.HasSyncedChecker().Done()
		return s
	}
}

// mute is a server that never answers.
func mute() *clientgo.ListWatch {
	return &clientgo.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
}

// applier is the least that a process function must do.
type applier struct {
	store clientgo.Store
	to    clientgo.ResourceEventHandler
}

func (a applier) process(popped any, isInInitialList bool) error {
	return a.processBatch(popped.(clientgo.Deltas), isInInitialList)
}

func (a applier) processBatch(deltas []clientgo.Delta, isInInitialList bool) error {
	for _, d := range deltas {
		var err error
		switch info := d.Object.(type) {
		case clientgo.ReplacedAllInfo:
			err = a.replace(info, isInInitialList)
		case clientgo.SyncAllInfo:
			for _, obj := range a.store.List() {
				a.to.OnUpdate(obj, obj)
			}
		case clientgo.BookmarkInfo:
			a.store.Bookmark(info.ResourceVersion)
		default:
			err = a.applyOne(d, isInInitialList)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a applier) applyOne(d clientgo.Delta, isInInitialList bool) error {
	if d.Type == clientgo.Deleted {
		a.to.OnDelete(d.Object)
		return a.store.Delete(d.Object)
	}
	old, exists, err := a.store.Get(d.Object)
	if err != nil {
		return err
	}
	if exists {
		a.to.OnUpdate(old, d.Object)
		return a.store.Update(d.Object)
	}
	a.to.OnAdd(d.Object, isInInitialList)
	return a.store.Add(d.Object)
}

func (a applier) replace(info clientgo.ReplacedAllInfo, isInInitialList bool) error {
	before := map[string]any{}
	for _, key := range a.store.ListKeys() {
		before[key], _, _ = a.store.GetByKey(key)
	}
	for _, obj := range info.Objects {
		key, err := clientgo.MetaNamespaceKeyFunc(obj)
		if err != nil {
			return err
		}
		if old := before[key]; old != nil {
			a.to.OnUpdate(old, obj)
		} else {
			a.to.OnAdd(obj, isInInitialList)
		}
		delete(before, key)
	}
	for key, obj := range before {
		a.to.OnDelete(clientgo.DeletedFinalStateUnknown{Key: key, Obj: obj})
	}
	return a.store.Replace(info.Objects, info.ResourceVersion)
}
