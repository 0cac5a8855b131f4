package compat

import (
	"slices"

	"glasswatch/compat/cache"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"glasswatch/tests/tutorials/play"
)

// Rungs stands on the two rungs below a shared informer. cache.New runs a reflector and a queue around one function: no store, no handlers.
// The DeltaFIFO drops the deletion here: it asks its KnownObjects what was there, and has none. NewInformer adds a store and one handler,
// and nobody else can listen. cmd/09-controller has the other rungs of this ladder.
//
// Natively the first is a Reflector on a queue, and a loop that pops from it. There is none like NewInformer: an Informer with one handler is the same.
func Rungs(p *play.Play) {
	listWatch := cache.NewListWatchFromClient(p.Client().CoreV1().RESTClient(), "configmaps", "default", fields.Everything())
	changes := func() {
		p.Pass(0)
		p.Server().Put("a", "2")
		p.Pass(0)
		p.Server().Delete("a")
		p.Pass(0)
	}
	p.Server().Put("a", "1")
	queue := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{EmitDeltaTypeReplaced: true})
	controller := cache.New(&cache.Config{Queue: queue, ListerWatcher: listWatch, ObjectType: &corev1.ConfigMap{},
		Process: func(popped any, isInInitialList bool) error {
			for _, delta := range popped.(cache.Deltas) {
				obj := delta.Object.(*corev1.ConfigMap)
				p.Print("the low rung:  %-8s %s=%s, initial %t", delta.Type, obj.Name, obj.Data["value"], isInInitialList)
			}
			return nil
		}})
	stop := p.Go(controller.RunWithContext)
	changes()
	p.Print("the low rung:  has synced %t", controller.HasSynced())
	stop()

	p.Server().Put("a", "1")
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: listWatch, ObjectType: &corev1.ConfigMap{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { p.Print("one handler:   add    %s", obj.(*corev1.ConfigMap).Name) },
			UpdateFunc: func(_, obj any) { p.Print("one handler:   update %s", obj.(*corev1.ConfigMap).Name) },
			DeleteFunc: func(obj any) { p.Print("one handler:   delete %s", obj.(*corev1.ConfigMap).Name) },
		}})
	p.Go(controller.RunWithContext)
	changes()
	p.Server().Put("b", "1")
	p.Pass(0)
	p.Print("one handler:   the store has %v", slices.Sorted(slices.Values(store.ListKeys())))
}
