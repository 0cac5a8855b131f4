package clientgo

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"glasswatch/tests/tutorials/play"
)

// KeyErrors enqueues what a handler is given. The tutorial's enqueue reports an error of the key function and goes on, so the key "" comes
// into the queue. It splits into an empty namespace and an empty name, without an error. The usual cause is a deletion that the watch
// missed: its object comes in a DeletedFinalStateUnknown, and its true key never comes into the queue.
//
// Ways: a native handler of deletions is given the key.
func KeyErrors(p *play.Play) {
	missed := cache.DeletedFinalStateUnknown{Key: "default/a", Obj: &corev1.ConfigMap{}}
	take := func(what string, enqueue func(queue workqueue.TypedInterface[string])) {
		queue := workqueue.NewTyped[string]()
		enqueue(queue)
		queue.ShutDown()
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			namespace, name, err := cache.SplitMetaNamespaceKey(key)
			p.Print("%s: the worker gets key %q: namespace %q, name %q, error %v", what, key, namespace, name, err)
		}
	}
	take("goes on   ", func(queue workqueue.TypedInterface[string]) {
		key, err := cache.MetaNamespaceKeyFunc(missed)
		if err != nil {
			p.Print("goes on   : reported %v", err)
		}
		queue.Add(key)
	})
	take("returns   ", func(queue workqueue.TypedInterface[string]) {
		key, err := cache.MetaNamespaceKeyFunc(missed)
		if err != nil {
			p.Print("returns   : reported %v", err)
			return
		}
		queue.Add(key)
	})
	take("tombstones", func(queue workqueue.TypedInterface[string]) {
		key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(missed)
		if err != nil {
			return
		}
		queue.Add(key)
	})
}
