package clientgo

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"glasswatch/tests/tutorials/play"
)

// HourInformer watches the same hour with an informer. It knows what it had, so that after a list it can tell what went and what
// changed. What came and went unseen it never tells: an informer gives states, not a history.
//
// Differs: after a watch that failed with 503 client-go's reflector lists again, so b=2 is never seen. Ours watches again from the version
// that it knows, until the server says 410.
func HourInformer(p *play.Play) {
	hour := p.Hour()
	client := hour.Client()
	informer := cache.NewSharedIndexInformer(cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", "default", fields.Everything()),
		&corev1.ConfigMap{}, 0, cache.Indexers{})
	play.Must(informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { hour.Saw("add", obj.(*corev1.ConfigMap)) },
		UpdateFunc: func(_, obj any) { hour.Saw("update", obj.(*corev1.ConfigMap)) },
		DeleteFunc: func(obj any) {
			unknown, ok := obj.(cache.DeletedFinalStateUnknown)
			if ok {
				obj = unknown.Obj
			}
			hour.Saw("deleted", obj.(*corev1.ConfigMap))
		},
	}))
	p.Go(informer.RunWithContext)
	hour.Play()
}
