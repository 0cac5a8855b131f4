// Package transform has transforms for an informer's Options.Transform, which make cached objects smaller: they leave
// out what no handler reads.
//
//	as decoded ─▶ StripManagedFields ─▶ KeepAnnotations ─▶ … ─▶ queue, store, handlers
//
// A transform is a func(T) (T, error); [Chain] makes one of many.
//
// # What is guaranteed
//
//   - StripManagedFields and KeepAnnotations copy on write: they write to the object's own fields only, so that objects
//     may share parts before them (glasswatch/listwatch/memo).
//
// # What is not
//
//   - Objects of a checkpoint are not transformed again.
package transform

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Chain returns a transform that calls transforms one after the other, each with what the one before returned, until
// one fails. Of none it is one that changes nothing.
func Chain[T any](transforms ...func(T) (T, error)) func(T) (T, error) {
	return func(obj T) (T, error) {
		for _, transform := range transforms {
			var err error
			if obj, err = transform(obj); err != nil {
				var none T
				return none, err
			}
		}
		return obj, nil
	}
}

// StripManagedFields leaves out metadata.managedFields, often a third of an object and of use to server-side apply
// only. An object without them must not be sent in an update.
func StripManagedFields[T metav1.Object](obj T) (T, error) {
	if obj.GetManagedFields() != nil {
		obj.SetManagedFields(nil)
	}
	return obj, nil
}

// KeepAnnotations returns a transform that leaves out all annotations but those named; without names, all.
func KeepAnnotations[T metav1.Object](names ...string) func(T) (T, error) {
	return func(obj T) (T, error) {
		all := obj.GetAnnotations()
		if all == nil {
			return obj, nil
		}
		// A map of its own: one from which much was deleted does not shrink.
		var kept map[string]string
		for _, name := range names {
			if value, ok := all[name]; ok {
				if kept == nil {
					kept = make(map[string]string, min(len(names), len(all)))
				}
				kept[name] = value
			}
		}
		obj.SetAnnotations(kept)
		return obj, nil
	}
}
