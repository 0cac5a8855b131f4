// Package factory makes informers by type or by resource: one for all who ask, started and stopped together. It is for
// programs with several kinds or several controllers; a learner may skip it.
//
//	InformerFor[*corev1.Service] ─┐
//	ForResource(services) ────────┼─▶ Factory ─▶ one informer a resource ─▶ Start, WaitForSync, Stop, Shutdown
//	ForMetadata(services) ────────┘
//
// # Guarantees
//
//   - Whoever asks for the same type gets the same informer: one list, one watch, one store.
//   - Informers that were asked for later start with the next Start.
//   - [Factory.Stop] frees one informer; the next one to ask gets a fresh one.
//   - [Factory.Shutdown] stops all and returns when their goroutines are gone.
//   - Equal parts of an informer's objects are in memory once, unless [Options] or a transform rule it out.
//
// # Not guaranteed
//
//   - That a resource exists. An informer on one that does not exist never syncs, and WaitForSync's error says why.
//   - Without a RESTMapper, the right plural and scope of types that are not built in: guessed, and namespaced.
//
// Reading order: factory.go, informers.go, resources.go, generic.go.
package factory
