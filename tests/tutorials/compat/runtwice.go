package compat

import (
	"context"
	"time"

	"glasswatch/compat/cache"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"glasswatch/tests/tutorials/play"
)

// RunTwice runs an informer twice: while it runs, and after it has ended. Neither does anything, and no error says so, only a line in the
// log. What has stopped takes no more handlers. Make another informer.
//
// Often said: "SharedInformer's Run may be called twice", for it is shared. Several controllers share its handlers; one of them runs it, or a
// factory.
//
// Differs: the native Run returns an error.
func RunTwice(p *play.Play) {
	listWatch := cache.NewListWatchFromClient(p.Client().CoreV1().RESTClient(), "configmaps", "default", fields.Everything())
	informer := cache.NewSharedIndexInformer(listWatch, &corev1.ConfigMap{}, 0, cache.Indexers{})
	run := func(what string) (stop func()) {
		return p.Go(func(ctx context.Context) {
			informer.RunWithContext(ctx)
			p.Print("%s  %s has ended", p.Time(), what)
		})
	}
	stop := run("the first Run")
	p.Pass(time.Minute)
	run("the second Run, beside the first,")
	p.Pass(time.Minute)
	stop()
	run("the third Run, after the first,")
	p.Pass(time.Minute)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	p.Print("%s  another handler is refused: %t, stopped: %t", p.Time(), err != nil, informer.IsStopped())
}
