package compat

import (
	"context"

	"glasswatch/compat/cache"
	"glasswatch/compat/workqueue"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"glasswatch/tests/tutorials/play"
)

// OneEvent sends one object through everything: an informer, a handler, a queue, a worker, and then a list of the server.
// docs/learn/source-walk.md shows which functions it passes, in client-go and here.
func OneEvent(p *play.Play) {
	listWatch := cache.NewListWatchFromClient(p.Client().CoreV1().RESTClient(), "configmaps", "default", fields.Everything())
	informer := cache.NewSharedIndexInformer(listWatch, &corev1.ConfigMap{}, 0, cache.Indexers{})
	queue := workqueue.NewTyped[string]()
	play.Must(informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		key := play.Must(cache.MetaNamespaceKeyFunc(obj))
		p.Print("handler: add %s", key)
		queue.Add(key)
	}}))
	p.Go(informer.RunWithContext)
	p.Go(func(context.Context) {
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			_, exists, err := informer.GetStore().GetByKey(key)
			play.Check(err)
			p.Print("worker: %s, in the store: %t", key, exists)
			queue.Done(key)
		}
	})
	p.Pass(0)
	p.Server().Put("a", "1")
	p.Pass(0)
	queue.ShutDown()
	list := play.Must(p.Client().CoreV1().ConfigMaps("default").List(p.Context(), metav1.ListOptions{}))
	p.Print("list: %d", len(list.Items))
}
