package compat

import (
	"fmt"
	"maps"
	"slices"

	"glasswatch/compat/cache"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"glasswatch/tests/tutorials/play"
)

// DefaultIndex asks informers for the index by namespace. The informers of client-go's factory have one. NewSharedIndexInformer has the
// indices that it is given, and none besides; without one, a lister walks through everything. Index finds the objects like one that is given:
// those that share a value with it.
//
// Differs: each native informer has the index by namespace.
func DefaultIndex(p *play.Play) {
	listWatch := cache.NewListWatchFromClient(p.Client().CoreV1().RESTClient(), "configmaps", metav1.NamespaceAll, fields.Everything())
	bare := cache.NewSharedIndexInformer(listWatch, &corev1.ConfigMap{}, 0, cache.Indexers{})
	p.Print("no indexers given: %v", slices.Sorted(maps.Keys(bare.GetIndexer().GetIndexers())))
	like := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
	_, err := bare.GetIndexer().Index(cache.NamespaceIndex, like)
	p.Print("Index by namespace: %v", err)

	informer := cache.NewSharedIndexInformer(listWatch, &corev1.ConfigMap{}, 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		"color":              func(obj any) ([]string, error) { return []string{obj.(*corev1.ConfigMap).Labels["color"]}, nil },
	})
	for name, color := range map[string]string{"a": "red", "b": "blue", "c": "red"} {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"color": color}}}
		p.Server().PutObject(obj)
	}
	p.Go(informer.RunWithContext)
	p.Pass(0)
	store := informer.GetIndexer()
	names := func(objects []any, err error) string {
		play.Check(err)
		var names []string
		for _, obj := range objects {
			names = append(names, obj.(*corev1.ConfigMap).Name)
		}
		return fmt.Sprint(slices.Sorted(slices.Values(names)))
	}
	p.Print("ByIndex namespace default: %s", names(store.ByIndex(cache.NamespaceIndex, "default")))
	like.Labels = map[string]string{"color": "red"}
	p.Print("Index color, like a red one: %s", names(store.Index("color", like)))
	p.Print("all colors: %v", slices.Sorted(slices.Values(store.ListIndexFuncValues("color"))))
}
