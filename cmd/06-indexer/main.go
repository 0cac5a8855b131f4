// Command 06-indexer files objects: under which key, in which indices, and how long a reader's snapshot lasts.
package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"glasswatch/cmd/internal/demo"
	"glasswatch/compat/cache"
	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "06-indexer", Title: "Where objects are, and how they are found",
	Layer: "indexer/store.go", Next: "docs/learn/tour.md, chapter 5", Tell: demo.Steps(keys, withoutKey, beforeSync, aStore)}

func aStore(_ context.Context, d *demo.Demo) {
	store := newStore()
	tables(d, store)
	byLabel(d, store)
	snapshots(d, store)
	severalValues(d, store)
}

type pods = indexer.Store[string, *corev1.Pod]

func pod(name, node, app, version string) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}, ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID("uid-of-" + name), Labels: map[string]string{"app": app}, ResourceVersion: version}}
}

func newStore() *pods {
	s := indexer.New(indexer.Options[string, *corev1.Pod]{
		KeyFunc: func(p *corev1.Pod) (string, error) { return cache.MetaNamespaceKeyFunc(p) },
		Compare: strings.Compare,
		Indexers: indexer.Indexers[*corev1.Pod]{
			"namespace": func(p *corev1.Pod, dst []string) ([]string, error) { return append(dst, p.Namespace), nil },
			"node":      func(p *corev1.Pod, dst []string) ([]string, error) { return append(dst, p.Spec.NodeName), nil },
		}})
	demo.Check(s.Replace([]*corev1.Pod{pod("cart", "n1", "web", "1"), pod("mail", "n1", "batch", "1"), pod("till", "n2", "web", "1")}, "1"))
	return s
}

func keys(_ context.Context, d *demo.Demo) {
	d.Step("Key functions")
	cart, shop := pod("cart", "n1", "web", "1"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	tombstone := cache.DeletedFinalStateUnknown{Key: "shop/cart"}
	byUID := func(p *corev1.Pod) (string, error) { return string(p.UID), nil }
	d.Table([]string{"function", "of", "key"},
		[]string{"MetaNamespaceKeyFunc", "a pod", demo.Must(cache.MetaNamespaceKeyFunc(cart))},
		[]string{"MetaNamespaceKeyFunc", "a namespace", demo.Must(cache.MetaNamespaceKeyFunc(shop))},
		[]string{"DeletionHandling…", "a tombstone", demo.Must(cache.DeletionHandlingMetaNamespaceKeyFunc(tombstone))},
		[]string{"listwatch.KeyOf", "a pod", fmt.Sprintf("%+v", struct{ Namespace, Name string }(listwatch.KeyOf(cart)))},
		[]string{"one's own, the UID", "a pod", demo.Must(byUID(cart))})
	_, err := cache.MetaNamespaceKeyFunc(tombstone)
	d.Saw("MetaNamespaceKeyFunc of a tombstone: %v", err)
	d.Why("a key is what tells objects apart: by name, two that lived one after the other are one; by UID they are two")
}

func withoutKey(_ context.Context, d *demo.Demo) {
	d.Step("Get of an object without a key")
	store := indexer.New(indexer.Options[string, any]{KeyFunc: cache.MetaNamespaceKeyFunc})
	demo.Check(store.Add(pod("cart", "n1", "web", "1")))
	for _, object := range []any{"shop/cart", &corev1.Pod{}, cache.ExplicitKey("shop/cart")} {
		_, ok, err := store.Get(object)
		d.Saw("Get(%T): there %t, error %v", object, ok, err)
	}
	_, ok := store.GetByKey("shop/cart")
	d.Saw("GetByKey: there %t", ok)
	d.Why("a text is no object, so it is an error; a pod without a name has the key \"\", and nothing is stored there")
}

func beforeSync(ctx context.Context, d *demo.Demo) {
	d.Step("A read before the sync")
	d.Put(ctx, "read", "cart")
	informer := sharedinformer.New(d.ConfigMaps("read"), sharedinformer.Options[*corev1.ConfigMap]{})
	get := func(when string) {
		_, err := informer.Lister().Namespace(d.Namespace).Get("cart")
		d.Saw("%s: synced %t, stored %d, error %v", when, informer.HasSynced(), informer.Store().Len(), err)
	}
	get("before Run")
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- informer.Run(ctx) }()
	defer func() { cancel(); demo.Check(<-stopped) }()
	demo.Check(informer.WaitForSync(ctx))
	get("after WaitForSync")
	d.Why("\"not found\" of a store that has not synced says nothing: the server has had it all the time")
}

func tables(d *demo.Demo, store *pods) {
	d.Step("Indexers, indices and keys")
	indexers, indices := [][]string{{"indexer", "its values of shop/cart"}}, [][]string{{"index", "value", "keys"}}
	cart, _ := store.GetByKey("shop/cart")
	for _, name := range slices.Sorted(maps.Keys(store.GetIndexers())) {
		indexers = append(indexers, []string{name, fmt.Sprint(demo.Must(store.GetIndexers()[name](cart, nil)))})
		for _, value := range store.ListIndexValues(name) {
			indices = append(indices, []string{name, value, fmt.Sprint(demo.Must(store.IndexKeys(name, value)))})
		}
	}
	objects := [][]string{{"key", "node", "app", "version"}}
	for _, key := range store.ListKeys() {
		p, _ := store.GetByKey(key)
		objects = append(objects, []string{key, p.Spec.NodeName, p.Labels["app"], p.ResourceVersion})
	}
	d.Table(indexers...)
	d.Table(indices...)
	d.Table(objects...)
}

func byLabel(d *demo.Demo, store *pods) {
	d.Step("An index by label, added while the store is full")
	demo.Check(store.AddIndexers(indexer.Indexers[*corev1.Pod]{"app": func(p *corev1.Pod, dst []string) ([]string, error) {
		return append(dst, p.Labels["app"]), nil
	}}))
	d.Saw("app=web: %v", demo.Must(store.IndexKeys("app", "web")))
	demo.Check(store.Update(pod("mail", "n1", "web", "2")))
	d.Saw("shop/mail labelled app=web: %v; values %v", demo.Must(store.IndexKeys("app", "web")), store.ListIndexValues("app"))
	d.Why("one look instead of a selector that is tried on every object; an update moves its object, and an empty value goes")
}

func snapshots(d *demo.Demo, store *pods) {
	d.Step("Snapshots: a reader keeps its view while a writer goes on")
	view, seen := store.Snapshot(), sets.New[string]()
	writes := []indexer.Op[string, *corev1.Pod]{{Key: "shop/cart", Obj: pod("cart", "n3", "web", "9")}, {Key: "shop/till", Delete: true}}
	for key, p := range store.All() { // while this reader reads, a writer changes all the other objects
		store.Apply(writes, "9")
		seen.Insert(key + "@" + p.ResourceVersion)
	}
	was, _ := view.Get("shop/cart")
	is, _ := store.GetByKey("shop/cart")
	d.Did("in each turn of a loop over the store: cart moved to n3, till deleted, at version 9")
	d.Saw("the loop saw %v", sets.List(seen))
	nowOnN1, wereOnN1 := demo.Must(store.IndexKeys("node", "n1")), maps.Collect(demo.Must(view.ByIndex("node", "n1")))
	const line = "%-8s at %s: %d pods, cart on %s, on n1 %v"
	d.Saw(line, "store", store.ResourceVersion(), store.Len(), is.Spec.NodeName, nowOnN1)
	d.Saw(line, "snapshot", view.ResourceVersion(), view.Len(), was.Spec.NodeName, slices.Sorted(maps.Keys(wereOnN1)))
	d.Why("objects, indices and version are of one moment, and neither waits for the other: a writer copies what a reader looks at")
}
