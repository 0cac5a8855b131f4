// Package mutationdetect finds out that somebody has modified a cached object, and which field.
//
// The store, all handlers and all listers share one object. A program that writes to it changes what the others read.
//
//	             copy, before the object is stored
//	informer ──────────────────────────────────────▶ Detector ── each second: still equal to its copy? ──▶ report
//
// # Guarantees
//
//   - Each object of the store is compared once a second. An object that left the store is compared for two minutes
//     more, as handlers may still have it, and once more after the informer has stopped.
//   - A modified object is reported once, from the detector's goroutine.
//
// # Not guaranteed
//
//   - Who modified the object: only that it differs, and where.
//   - That a modification is seen that is undone within a second.
//
// It takes as much memory again as the objects do, so it is for tests.
package mutationdetect
