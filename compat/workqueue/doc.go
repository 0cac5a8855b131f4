// Package workqueue has the names and signatures of k8s.io/client-go/util/workqueue, implemented by glasswatch's
// queues. Code written for client-go runs on it after one import is changed.
//
//	import "k8s.io/client-go/util/workqueue"   ──▶   import "glasswatch/compat/workqueue"
//
//	                contracts: aliases of client-go's types
//	           ┌──────────────────────────────────────────────────┐
//	your code ─┤ TypedRateLimitingInterface, MetricsProvider, …   ├─ other people's code, still on client-go
//	           └──────────────────────────────────────────────────┘
//	                machinery: glasswatch/workqueue
//
// The contracts (interfaces, config structs, function types) are aliases. So code that wants client-go's types accepts
// a queue of this package, and this package accepts client-go's queues and limiters. The structs (Typed and the
// limiters) are aliases of glasswatch's. A type assertion finds their additional methods.
//
// # What is promised
//
//   - All that glasswatch/workqueue promises about order, duplicates, exclusion, shutdown and goroutines.
//   - Metrics are client-go's, reported at the same events. A queue without a name reports none. The calls for one
//     queue never overlap, so one queue's metric need not be safe for concurrent use. It must not call the queue.
//   - A config's Clock decides when delayed items are due. Items go to a config's Queue or DelayingQueue, of any
//     implementation. Such a queue needs one goroutine while items are delayed, and none otherwise.
//
// # What is not
//
//   - Metrics timed by a config's Clock: they always use the real one.
//   - Metrics for a program that called client-go's SetProvider: its provider cannot be read. Call this package's.
//   - The names that client-go deprecates.
//
// The README.md of the folder above lists every name. docs/client-go.md says where client-go differs.
package workqueue
