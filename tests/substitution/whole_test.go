package substitution

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/compat/cache"
	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	"glasswatch/tests/memserver"
)

type config = *corev1.ConfigMap

// whole is a complete informer. The facades read kind and streaming from the feature gates.
type whole struct {
	name  string
	build func(kind sharedinformer.QueueKind, streaming bool) build
}

var wholes = []whole{
	{"client-go SharedIndexInformer", shared(clientgo.NewSharedIndexInformerWithOptions)},
	{"compat SharedIndexInformer", shared(cache.NewSharedIndexInformerWithOptions)},
	{"client-go informer", simple(clientgo.NewInformerWithOptions)},
	{"compat informer", simple(cache.NewInformerWithOptions)},
	{"native Informer", nativeShared},
}

type newShared func(clientgo.ListerWatcher, runtime.Object, clientgo.SharedIndexInformerOptions) clientgo.SharedIndexInformer

func shared(make newShared) func(sharedinformer.QueueKind, bool) build {
	return func(kind sharedinformer.QueueKind, _ bool) build {
		return func(c *memserver.Client, d *diary) stack {
			i := make(listerWatcher(c), &corev1.ConfigMap{}, clientgo.SharedIndexInformerOptions{ResyncPeriod: period})
			if _, err := i.AddEventHandler(untyped{d}); err != nil {
				panic(err)
			}
			s := stack{
				run: i.RunWithContext, hasSynced: i.HasSynced, synced: i.HasSyncedChecker().Done(),
				readUpTo: i.LastSyncResourceVersion,
				contents: func() map[string]string { return contents(i.GetStore()) },
			}
			if kind == sharedinformer.InOrder {
				s.storedUpTo = i.GetStore().LastStoreSyncResourceVersion
			}
			return s
		}
	}
}

func simple(make func(clientgo.InformerOptions) (clientgo.Store, clientgo.Controller)) func(sharedinformer.QueueKind, bool) build {
	return func(kind sharedinformer.QueueKind, _ bool) build {
		return func(c *memserver.Client, d *diary) stack {
			store, controller := make(clientgo.InformerOptions{
				ListerWatcher: listerWatcher(c), ObjectType: &corev1.ConfigMap{}, Handler: untyped{d}, ResyncPeriod: period,
			})
			s := stack{
				run: controller.RunWithContext, hasSynced: controller.HasSynced, synced: controller.HasSyncedChecker().Done(),
				readUpTo: controller.LastSyncResourceVersion,
				contents: func() map[string]string { return contents(store) },
			}
			if kind == sharedinformer.InOrder {
				s.storedUpTo = store.LastStoreSyncResourceVersion
			}
			return s
		}
	}
}

// nativeOptions are what the gates say to the facades.
func nativeOptions(kind sharedinformer.QueueKind, streaming bool) sharedinformer.Options[config] {
	opts := sharedinformer.Options[config]{Queue: kind, ResyncPeriod: period}
	opts.Reflector.DisableStreamingList = !streaming
	return opts
}

func nativeListerWatcher(c *memserver.Client) listwatch.Funcs[config] {
	return listwatch.Funcs[config]{ListFunc: c.List, WatchFunc: c.Watch}
}

func nativeShared(kind sharedinformer.QueueKind, streaming bool) build {
	return func(c *memserver.Client, d *diary) stack {
		i := sharedinformer.New(nativeListerWatcher(c), nativeOptions(kind, streaming))
		if _, err := i.AddHandler(typed{d}, sharedinformer.HandlerOptions{}); err != nil {
			panic(err)
		}
		return nativeStack(kind, i, i.Store())
	}
}

// nativeInformer is what the native informers have in common.
type nativeInformer interface {
	Run(ctx context.Context) error
	HasSynced() bool
	Synced() <-chan struct{}
	LastSyncResourceVersion() string
}

func nativeStack(kind sharedinformer.QueueKind, i nativeInformer, store *indexer.Store[listwatch.Key, config]) stack {
	s := stack{
		run:       func(ctx context.Context) { _ = i.Run(ctx) },
		hasSynced: i.HasSynced, synced: i.Synced(), readUpTo: i.LastSyncResourceVersion,
		contents: func() map[string]string {
			versions := map[string]string{}
			for _, obj := range store.Snapshot().All() {
				versions[keyOf(obj)] = obj.ResourceVersion
			}
			return versions
		},
	}
	if kind == sharedinformer.InOrder {
		s.storedUpTo = store.ResourceVersion
	}
	return s
}
