package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// EnqueueObject returns a handler that enqueues the key of each object that appears, changes or goes. Objects of an initial
// list, and updates that bring no other version (resyncs), have [LowPriority], so that they yield to live changes.
func EnqueueObject[T listwatch.Object](c *Controller[listwatch.Key]) sharedinformer.Handler[T] {
	return sharedinformer.HandlerFuncs[T]{
		AddFunc: func(obj T, isInInitialList bool) {
			c.EnqueueWithPriority(listwatch.KeyOf(obj), priorityOf(isInInitialList))
		},
		UpdateFunc: func(oldObj, newObj T) {
			c.EnqueueWithPriority(listwatch.KeyOf(newObj), priorityOf(sameVersion(oldObj, newObj)))
		},
		DeleteFunc: func(d sharedinformer.Deletion[T]) { c.Enqueue(d.Key) },
	}
}

// EnqueueOwner returns a handler that enqueues, for each object that appears, changes or goes, the object of the given kind
// (of any version) that is its controller: the key has the owner's name and the object's namespace. An object whose
// controller changed enqueues both. Objects without a controller of that kind are passed over, and so is a deletion whose
// object is not at hand. Priorities are those of [EnqueueObject].
func EnqueueOwner[T listwatch.Object](c *Controller[listwatch.Key], owner schema.GroupKind) sharedinformer.Handler[T] {
	enqueue := func(obj T, low bool) {
		if key, ok := ownerOf(obj, owner); ok {
			c.EnqueueWithPriority(key, priorityOf(low))
		}
	}
	return sharedinformer.HandlerFuncs[T]{
		AddFunc: enqueue,
		UpdateFunc: func(oldObj, newObj T) {
			low := sameVersion(oldObj, newObj)
			enqueue(newObj, low)
			before, had := ownerOf(oldObj, owner)
			if now, has := ownerOf(newObj, owner); had && (!has || now != before) {
				enqueue(oldObj, low)
			}
		},
		DeleteFunc: func(d sharedinformer.Deletion[T]) {
			var none T
			if any(d.Obj) != any(none) {
				enqueue(d.Obj, false)
			}
		},
	}
}

func ownerOf(obj metav1.Object, kind schema.GroupKind) (listwatch.Key, bool) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.Kind != kind.Kind {
		return listwatch.Key{}, false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || gv.Group != kind.Group {
		return listwatch.Key{}, false
	}
	return listwatch.Key{Namespace: obj.GetNamespace(), Name: ref.Name}, true
}

func priorityOf(low bool) int {
	if low {
		return LowPriority
	}
	return 0
}

func sameVersion(a, b metav1.Object) bool { return a.GetResourceVersion() == b.GetResourceVersion() }
