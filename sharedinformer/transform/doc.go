// Package transform has transforms for an informer's Options.Transform, which make cached objects smaller: they leave out
// what no handler reads.
//
//	as decoded ─▶ StripManagedFields ─▶ KeepAnnotations ─▶ … ─▶ queue, store, handlers
//
// A transform is a func(T) (T, error); [Chain] makes one of many.
//
// # What is guaranteed
//
//   - StripManagedFields and KeepAnnotations copy on write: they write to the object's own fields only, so that objects may
//     share parts before them (glasswatch/listwatch/memo).
//
// # What is not
//
//   - Objects of a checkpoint are not transformed again.
package transform
