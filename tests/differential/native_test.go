package differential

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

type config = *corev1.ConfigMap

// native is an informer with our own face.
type native struct {
	informer *sharedinformer.Informer[config]
}

func newNative(g *gate, s script) subject {
	opts := sharedinformer.Options[config]{WatchErrorHandler: func(context.Context, error) {}}
	if s.mode() == "perkey" {
		opts.Queue = sharedinformer.PerKey
	}
	if s.has("resync") {
		opts.ResyncPeriod = resyncPeriod
	}
	opts.Reflector.DisableStreamingList = !s.has("streaming")
	if s.has("transform") {
		opts.Transform = func(obj config) (config, error) {
			transform(obj)
			return obj, nil
		}
	}
	return native{sharedinformer.New(listwatch.Funcs[config]{ListFunc: g.List, WatchFunc: g.Watch}, opts)}
}

func (n native) Start(ctx context.Context) <-chan struct{} {
	go func() { _ = n.informer.Run(ctx) }()
	return n.informer.Done()
}

func (n native) Add(h *recorder, resync string) (registration, error) {
	opts := sharedinformer.HandlerOptions{ResyncPeriod: resyncOf[resync]}
	if resync == "none" {
		opts.ResyncPeriod = sharedinformer.NoResync
	}
	return n.informer.AddHandler(nativeHandler{h}, opts)
}

func (n native) Remove(r registration) error {
	return n.informer.RemoveHandler(r.(*sharedinformer.Registration))
}

func (n native) HasSynced() bool { return n.informer.HasSynced() }

func (n native) Synced() <-chan struct{} { return n.informer.Synced() }

func (n native) StoreVersion() string { return n.informer.Store().ResourceVersion() }

func (n native) ReadUpTo() string { return n.informer.LastSyncResourceVersion() }

func (n native) Store() []string {
	snapshot := n.informer.Store().Snapshot()
	var lines []string
	namespaces := map[string][]string{}
	for key, obj := range snapshot.All() {
		lines = append(lines, fmt.Sprintf("%s: %s", keyOf(obj), version(obj)))
		namespaces[key.Namespace] = nil
	}
	for namespace := range namespaces {
		objs, err := snapshot.ByIndex(sharedinformer.NamespaceIndex, namespace)
		keys := []string{}
		for _, obj := range objs {
			keys = append(keys, keyOf(obj))
		}
		slices.Sort(keys)
		lines = append(lines, fmt.Sprintf("namespace %s: %v, error %v", namespace, keys, err))
	}
	slices.Sort(lines)
	return lines
}

type nativeHandler struct{ to *recorder }

func (h nativeHandler) OnAdd(obj config, isInInitialList bool) { h.to.added(obj, isInInitialList) }

func (h nativeHandler) OnUpdate(oldObj, newObj config) { h.to.updated(oldObj, newObj) }

func (h nativeHandler) OnDelete(d sharedinformer.Deletion[config]) {
	key := clientgo.ObjectName(d.Key).String()
	if !d.HasObj() {
		h.to.deleted(key, nil, d.FinalStateUnknown)
		return
	}
	h.to.deleted(key, d.Obj, d.FinalStateUnknown)
}
