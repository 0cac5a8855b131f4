package native

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/indexer"
	"glasswatch/sharedinformer"
	"glasswatch/tests/tutorials/play"
)

// DefaultIndex does what its namesake does with an Informer's Store.
func DefaultIndex(p *play.Play) {
	bare := sharedinformer.New(p.ConfigMaps(), sharedinformer.Options[*corev1.ConfigMap]{})
	p.Print("no indexers given: %v", slices.Sorted(maps.Keys(bare.Store().GetIndexers())))
	like := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
	_, err := bare.Store().Index(sharedinformer.NamespaceIndex, like)
	p.Print("Index by namespace: %v", err)

	informer := sharedinformer.New(p.ConfigMaps(), sharedinformer.Options[*corev1.ConfigMap]{Indexers: indexer.Indexers[*corev1.ConfigMap]{
		"color": func(obj *corev1.ConfigMap, dst []string) ([]string, error) {
			return append(dst, obj.Labels["color"]), nil
		},
	}})
	for name, color := range map[string]string{"a": "red", "b": "blue", "c": "red"} {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"color": color}}}
		p.Server().PutObject(obj)
	}
	p.Go(func(ctx context.Context) { play.Check(informer.Run(ctx)) })
	p.Pass(0)
	store := informer.Store()
	names := func(objects []*corev1.ConfigMap, err error) string {
		play.Check(err)
		var names []string
		for _, obj := range objects {
			names = append(names, obj.Name)
		}
		return fmt.Sprint(slices.Sorted(slices.Values(names)))
	}
	p.Print("ByIndex namespace default: %s", names(store.ByIndex(sharedinformer.NamespaceIndex, "default")))
	like.Labels = map[string]string{"color": "red"}
	p.Print("Index color, like a red one: %s", names(store.Index("color", like)))
	p.Print("all colors: %v", slices.Sorted(slices.Values(store.ListIndexValues("color"))))
}
