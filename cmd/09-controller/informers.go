package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"glasswatch/cmd/internal/demo"
	"glasswatch/deltafifo"
	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

// This is an informer by hand, for Services: each layer is an object, and passes its output to the next one.
//
//	listwatch ─▶ reflector ─▶ deltafifo ─▶ apply ─▶ indexer
//	                                          └───▶ changed
type (
	delta    = deltafifo.Delta[listwatch.Key, *corev1.Service]
	op       = indexer.Op[listwatch.Key, *corev1.Service]
	services = indexer.Store[listwatch.Key, *corev1.Service]
)

func keyOf(service *corev1.Service) (listwatch.Key, error) { return listwatch.KeyOf(service), nil }

// mirror returns a store that holds all Services, from the first list on. changed is called after each change of it.
func mirror(ctx context.Context, d *demo.Demo, changed func(listwatch.Key)) *services {
	resource := corev1.SchemeGroupVersion.WithResource("services")
	lw := demo.Must(listwatch.NewForConfig[*corev1.Service](d.Config, resource, listwatch.Options{Namespace: d.Namespace}))
	store := indexer.New(indexer.Options[listwatch.Key, *corev1.Service]{KeyFunc: keyOf})
	queue := deltafifo.NewInOrder(deltafifo.Options[listwatch.Key, *corev1.Service]{KeyFunc: keyOf})
	r := reflector.New(lw, queue, reflector.Options{Name: resource.Resource})
	d.Go(ctx, func(ctx context.Context) {
		defer queue.Close() // ends the pops
		r.Run(ctx)
	})
	d.Go(ctx, func(context.Context) {
		for queue.Pop(func(x delta, _ bool) error { apply(store, x, changed); return nil }) == nil {
		}
	})
	demo.Until(ctx, "the first list is in the store, and a watch goes on from there", func() bool {
		return queue.HasSynced() && r.State() == reflector.Watching
	})
	d.Saw("Services, a layer at a time")
	d.Table([]string{"layer", "object", "what it is at"},
		[]string{"listwatch", typeOf(lw), lw.Source()},
		[]string{"reflector", typeOf(r), r.State().String() + ", from resourceVersion " + r.LastSyncResourceVersion()},
		[]string{"deltafifo", typeOf(queue), "the first list was popped"},
		[]string{"indexer", typeOf(store), fmt.Sprintf("objects: %d", store.Len())})
	return store
}

// apply writes a delta to the store, and only then reports the keys to reconcile.
func apply(store *services, x delta, changed func(listwatch.Key)) {
	ops := map[listwatch.Key]op{}
	switch x.Type {
	case deltafifo.ReplacedAll: // a list
		for _, key := range store.ListKeys() {
			ops[key] = op{Key: key, Delete: true} // objects that the list lacks are deleted
		}
		for _, item := range x.Bulk.Items {
			if !item.Keep {
				ops[item.Key] = op{Key: item.Key, Obj: item.Obj}
			} else if ops[item.Key].Delete { // it could not be read: the store's version stays
				delete(ops, item.Key)
			}
		}
	case deltafifo.Bookmark, deltafifo.SyncAll:
		return // no object has changed
	default:
		ops[x.Key] = op{Key: x.Key, Obj: x.Obj, Delete: x.Type == deltafifo.Deleted}
	}
	store.Apply(slices.Collect(maps.Values(ops)), "")
	for key := range ops {
		changed(key)
	}
}

// informer has all the parts of mirror. It also tells any number of handlers the kind of each change.
func informer(ctx context.Context, d *demo.Demo, changed func(listwatch.Key)) *sharedinformer.Informer[*networkingv1.Ingress] {
	resource := networkingv1.SchemeGroupVersion.WithResource("ingresses")
	lw := demo.Must(listwatch.NewForConfig[*networkingv1.Ingress](d.Config, resource, listwatch.Options{Namespace: d.Namespace}))
	i := sharedinformer.New(lw, sharedinformer.Options[*networkingv1.Ingress]{Name: resource.Resource})
	told := demo.Must(i.AddHandler(sharedinformer.HandlerFuncs[*networkingv1.Ingress]{
		AddFunc:    func(object *networkingv1.Ingress, _ bool) { changed(listwatch.KeyOf(object)) },
		UpdateFunc: func(_, object *networkingv1.Ingress) { changed(listwatch.KeyOf(object)) },
		DeleteFunc: func(gone sharedinformer.Deletion[*networkingv1.Ingress]) { changed(gone.Key) },
	}, sharedinformer.HandlerOptions{}))
	d.Go(ctx, func(ctx context.Context) { _ = i.Run(ctx) })
	demo.Check(told.WaitForSync(ctx))
	d.Saw("Ingresses: the same four layers are in one %s\nlists and watches %s; objects: %d", typeOf(i), lw.Source(), i.Store().Len())
	return i
}

// typeOf is the name of an object's type, without those in brackets.
func typeOf(object any) string {
	name, _, _ := strings.Cut(fmt.Sprintf("%T", object), "[")
	return name
}
