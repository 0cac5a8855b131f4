// Package workqueue has the names and signatures of k8s.io/client-go/util/workqueue, and behind them glasswatch's
// queues: code written for the one runs on the other once its import is changed.
//
//	import "k8s.io/client-go/util/workqueue"   ──▶   import "glasswatch/compat/workqueue"
//
//	                contracts: aliases of client-go's types
//	           ┌──────────────────────────────────────────────────┐
//	your code ─┤ TypedRateLimitingInterface, MetricsProvider, …   ├─ other people's code, still on client-go
//	           └──────────────────────────────────────────────────┘
//	                machinery: glasswatch/workqueue
//
// The contracts (interfaces, config structs, function types) are aliases, so that a queue made here can be handed to
// whoever wants client-go's, and a queue or limiter of client-go can be plugged in here. The structs (Typed and the
// limiters) are aliases of glasswatch's, so that a type assertion finds the methods they have beyond client-go's.
//
// # What is promised
//
//   - All that glasswatch/workqueue promises about order, duplicates, exclusion, shutdown and goroutines. One thing is
//     as in client-go instead: ShutDownWithDrain waits only for items that a worker has taken.
//   - Metrics are those that client-go reports, by the same events. A queue without a name reports none. The calls for
//     one queue never overlap: a metric that serves one queue need not be safe for concurrent use. It must not call it.
//   - A config's Clock decides when delayed items are due. A config's Queue or DelayingQueue, of whatever make, is
//     where the items go. Such a queue needs one goroutine while items are delayed, and none otherwise.
//
// # What is not
//
//   - Metrics timed by a config's Clock: they always use the real one.
//   - Metrics for a program that called client-go's SetProvider: its provider cannot be read. Call this package's.
//
// docs/use/facades.md lists every name. docs/use/swap.md says where client-go differs.
package workqueue
