package compat

import (
	"time"

	"glasswatch/compat/cache"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"glasswatch/tests/tutorials/play"
)

// Resyncs gives an informer a resync period of a minute, and counts for five. Each resync hands out what the store has, as updates from
// a version to the same version. The server is not asked.
//
// Often said: "a resync lists again", or "compares the cache with the server". It does neither, so it mends nothing that the cache got
// wrong. It repeats work that a handler may have failed at; a queue with retries does that better.
func Resyncs(p *play.Play) {
	hour := p.Hour()
	listWatch := cache.NewListWatchFromClient(hour.Client().CoreV1().RESTClient(), "configmaps", "default", fields.Everything())
	informer := cache.NewSharedIndexInformer(listWatch, &corev1.ConfigMap{}, time.Minute, cache.Indexers{})
	play.Must(informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { p.Print("%s  add %s", p.Time(), obj.(*corev1.ConfigMap).Name) },
		UpdateFunc: func(before, after any) {
			was, is := before.(*corev1.ConfigMap), after.(*corev1.ConfigMap)
			p.Print("%s  update %s, the same version: %t", p.Time(), is.Name, was.ResourceVersion == is.ResourceVersion)
		},
	}))
	p.Go(informer.RunWithContext)
	p.Pass(5*time.Minute + time.Second)
	p.Print("lists: %d", hour.Lists())
}
