// Package cache has the names and signatures of k8s.io/client-go/tools/cache, implemented by glasswatch's layers. Code
// written for client-go runs on it after one import is changed.
//
//	import "k8s.io/client-go/tools/cache"   ──▶   import "glasswatch/compat/cache"
//
//	               contracts: aliases of client-go's types
//	           ┌────────────────────────────────────────────────┐
//	your code ─┤ Store, Queue, SharedIndexInformer, Delta, …    ├─ other people's code, still on client-go
//	           └────────────────────────────────────────────────┘
//	               machinery: glasswatch's listwatch, reflector, deltafifo, indexer, sharedinformer
//
// The contracts (interfaces, function types, plain structs) are aliases. So code that wants client-go's types accepts a
// store, a queue or an informer of this package, and the other way round. Structs with unexported fields (DeltaFIFO,
// RealFIFO, …) are types of this package with the same methods. FIFO, Heap, ExpirationCache, UndeltaStore and
// RetryWithDeadline are client-go's own, since no layer has machinery for them: see clientgo.go.
//
// Read contracts.go for the names, store.go for stores, queue.go and deltafifo.go for queues. bridge.go, reflector.go
// and controller.go lead from a ListerWatcher into a queue. shared.go and shared_handlers.go have the shared informer.
//
// # What is promised
//
//   - All that client-go documents, and where it documents nothing, its behaviour. Tests play random histories to both.
//     docs/use/facades.md lists every name, and what differs.
//   - Stores: all that glasswatch/indexer promises. Reads do not stop writes. Readers see a Replace or a Transaction as
//     one step. An object whose index function fails or panics is missing from that index only.
//   - Queues: a transform that fails, or a missing key, drops that object only. An atomic list is the exception: see
//     RealFIFO.Replace.
//   - Informers and reflectors: all that glasswatch/sharedinformer and glasswatch/reflector promise. Cancellation ends
//     every wait at once. Only a watch function that ignores its context holds it up, for a second. Then such a
//     function goes on by itself, and a list function at once.
//   - Every handler gets every change. Folding and bounds are opt-in: see NewSharedIndexInformerWithOptions.
//
// # What is not
//
//   - Any order of List, ByIndex and ListKeys. IndexKeys are sorted.
//   - Metrics for a program that called client-go's SetInformerMetricsProvider or SetReflectorMetricsProvider: those
//     providers cannot be read. Call this package's functions.
//
// docs/use/swap.md says where client-go differs.
package cache
