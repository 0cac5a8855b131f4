package native

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	"glasswatch/tests/tutorials/play"
	"glasswatch/workqueue"
)

// OneEvent does what its namesake does with an Informer and a Queue.
func OneEvent(p *play.Play) {
	informer := sharedinformer.New(p.ConfigMaps(), sharedinformer.Options[*corev1.ConfigMap]{})
	queue := workqueue.New(workqueue.Options[listwatch.Key]{})
	play.Must(informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.ConfigMap]{AddFunc: func(obj *corev1.ConfigMap, _ bool) {
		key := listwatch.KeyOf(obj)
		p.Print("handler: add %s", key)
		queue.Add(key)
	}}, sharedinformer.HandlerOptions{}))
	p.Go(func(ctx context.Context) { play.Check(informer.Run(ctx)) })
	p.Go(func(context.Context) {
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			_, exists := informer.Store().GetByKey(key)
			p.Print("worker: %s, in the store: %t", key, exists)
			queue.Done(key)
		}
	})
	p.Pass(0)
	p.Server().Put("a", "1")
	p.Pass(0)
	queue.ShutDown()
	list := play.Must(p.ConfigMaps().List(p.Context(), metav1.ListOptions{}))
	p.Print("list: %d", len(list.Items))
}
