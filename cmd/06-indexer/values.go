package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"glasswatch/cmd/internal/demo"
	"glasswatch/indexer"
)

func severalValues(d *demo.Demo, store *pods) {
	d.Step("One object under several values of an index")
	demo.Check(store.AddIndexers(indexer.Indexers[*corev1.Pod]{"image": func(p *corev1.Pod, dst []string) ([]string, error) {
		for _, container := range p.Spec.Containers {
			dst = append(dst, container.Image)
		}
		return dst, nil
	}}))
	put := func(version string, images ...string) {
		p := pod("desk", "n2", "web", version)
		for _, image := range images {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Image: image})
		}
		demo.Check(store.Update(p))
		under := ""
		for _, image := range []string{"log", "proxy", "web"} {
			under += fmt.Sprintf("  %s %v", image, demo.Must(store.IndexKeys("image", image)))
		}
		d.Did("shop/desk has the images %s", strings.Join(images, ", "))
		d.Saw("%s; values %v", strings.TrimSpace(under), store.ListIndexValues("image"))
	}
	put("10", "web", "proxy", "proxy")
	put("11", "web", "log")
	put("12")
	d.Why("an index function gives any number of values. Given twice, a value counts once; without a value the object is in no list " +
		"of this index, and still in the store")
}
