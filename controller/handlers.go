package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// EnqueueObject returns a handler that enqueues the key of each object that is added, updated or deleted. Objects of an
// initial list, and updates without a new version (resyncs), have [LowPriority], so that live changes come first.
func EnqueueObject[T listwatch.Object](c *Controller[listwatch.Key]) sharedinformer.Handler[T] {
	h := enqueue(c, func(obj T) (listwatch.Key, bool) { return listwatch.KeyOf(obj), true })
	h.DeleteFunc = func(d sharedinformer.Deletion[T]) { c.Enqueue(d.Key) } // the object may be missing
	return h
}

// EnqueueOwner returns a handler that enqueues the controlling owner of each object that is added, updated or deleted.
// Owners of another kind are skipped; their version does not matter. The key has the owner's name and the object's
// namespace. If the owner of an object changed, both the old and the new one are enqueued. A deletion without an object
// is skipped. Priorities are those of [EnqueueObject].
func EnqueueOwner[T listwatch.Object](c *Controller[listwatch.Key], owner schema.GroupKind) sharedinformer.Handler[T] {
	return enqueue(c, func(obj T) (listwatch.Key, bool) { return ownerOf(obj, owner) })
}

// enqueue returns a handler that enqueues the key that keyOf finds for an object, if any.
func enqueue[T listwatch.Object](
	c *Controller[listwatch.Key], keyOf func(T) (listwatch.Key, bool),
) sharedinformer.HandlerFuncs[T] {
	add := func(obj T, low bool) { // as AddFunc, low says whether obj is in the initial list
		if key, ok := keyOf(obj); ok && low {
			c.EnqueueWithPriority(key, LowPriority)
		} else if ok {
			c.Enqueue(key)
		}
	}
	return sharedinformer.HandlerFuncs[T]{
		AddFunc: add,
		UpdateFunc: func(oldObj, newObj T) {
			low := oldObj.GetResourceVersion() == newObj.GetResourceVersion()
			add(newObj, low)
			before, _ := keyOf(oldObj)
			if now, _ := keyOf(newObj); before != now {
				add(oldObj, low)
			}
		},
		DeleteFunc: func(d sharedinformer.Deletion[T]) {
			if d.HasObj() {
				add(d.Obj, false)
			}
		},
	}
}

// ownerOf returns the key of the object's controller, if it is of that kind.
func ownerOf(obj metav1.Object, kind schema.GroupKind) (listwatch.Key, bool) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != kind {
		return listwatch.Key{}, false
	}
	return listwatch.Key{Namespace: obj.GetNamespace(), Name: ref.Name}, true
}
