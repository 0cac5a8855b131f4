// Package cache has the names and signatures of k8s.io/client-go/tools/cache, and behind them glasswatch's layers: code
// written for the one runs on the other once its import is changed.
//
//	import "k8s.io/client-go/tools/cache"   ──▶   import "glasswatch/compat/cache"
//
//	               contracts: aliases of client-go's types
//	           ┌────────────────────────────────────────────────┐
//	your code ─┤ Store, Queue, SharedIndexInformer, Delta, …    ├─ other people's code, still on client-go
//	           └────────────────────────────────────────────────┘
//	               machinery: glasswatch's listwatch, reflector, deltafifo, indexer, sharedinformer
//
// The contracts (interfaces, function types, plain structs) are aliases, so that a store, a queue or an informer made here
// can be handed to whoever wants client-go's, and the other way round. Structs whose fields client-go keeps to itself
// (DeltaFIFO, RealFIFO, FIFO, Heap, …) are types of this package with the same methods.
//
// Read contracts.go for the names, store.go for how a store of the layer is shown as an Indexer, queue.go and deltafifo.go
// for queues, bridge.go, reflector.go and controller.go for the way from a ListerWatcher into a queue, shared.go and
// shared_handlers.go for the shared informer.
//
// # What is promised
//
//   - All that client-go documents, and, where it documents nothing, what it does: random histories are played to both.
//     README.md of the folder above lists every name, and what differs.
//   - Stores: all that glasswatch/indexer promises. Reads do not stop writes, a Replace or a Transaction is one moment for
//     every reader, an index function that fails or panics costs that object that index. Their objects are interfaces,
//     not pointers: so beside a writer, lookups lock a 32nd of the keys.
//   - Queues: a transform that fails, and an object without a key, cost that object only. An atomic list is the exception:
//     see RealFIFO.Replace.
//   - Informers and reflectors: all that glasswatch/sharedinformer and glasswatch/reflector promise. Cancellation ends every
//     wait at once, also within list and watch functions that heed no context; such a function is left to itself.
//   - Every handler gets every change. Folding and bounds are for who asks for them: see NewSharedIndexInformerWithOptions.
//
// # What is not
//
//   - Any order of List, ByIndex and ListKeys. IndexKeys are sorted.
//   - Metrics for a program that called client-go's SetInformerMetricsProvider or SetReflectorMetricsProvider: what they
//     were given cannot be read. Call this package's.
//
// docs/client-go.md says where client-go differs.
package cache
