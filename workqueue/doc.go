// Package workqueue is the to-do list of a controller: producers add keys of objects, workers take them one by one.
//
//	           AddAfter, AddRateLimited
//	                     │
//	                     ▼            due
//	              ┌─────────────┐  (one timer)   ┌─────────────┐  Get   ┌────────────┐  Done
//	              │ delay heap  │ ─────────────▶ │ priority  1 │ ─────▶ │ processing │ ──────▶ gone
//	              └─────────────┘                │ priority  0 │        └──────┬─────┘
//	                                             │ priority −1 │               │
//	Add, AddWithPriority ──────────────────────▶ └─────────────┘ ◀─────────────┘ if added meanwhile
//
// [RateLimitingQueue] embeds [DelayingQueue], which embeds [Queue]. They have the methods of client-go's
// TypedRateLimitingInterface, TypedDelayingInterface and TypedInterface. The package knows nothing of Kubernetes and never logs.
//
// # Guarantees
//
//   - Duplicates: however often an item is added before it is taken, it is handed out once.
//   - Exclusion: one worker at a time has an item. Added while it is being processed, it comes back after Done.
//   - Order: the highest priority first, and first in first out within a priority. Delayed items come by deadline.
//   - Delays: an item is never due before its deadline. Of two AddAfters the sooner counts. Add does not cancel a
//     pending AddAfter, unless [Options].MergeDelayed asks for that.
//   - Blocking: Get waits for an item. ShutDownWithDrain waits for the workers. ShutDown waits for a callback of the
//     queue's timer that is running. Nothing else waits.
//   - Shutdown: what is queued or due can still be taken. What is delayed is dropped, and later adds do nothing. A
//     drain returns when every item that was due is done, or when ShutDown is called.
//   - Locks: [Order] is called with the queue's lock held. [Metrics] and rate limiters are called with no lock held.
//   - Goroutines: none while nothing is due. One timer goes off for the next deadline, and with metrics for the report
//     of unfinished work. Once ShutDown or ShutDownWithDrain has returned, it is gone.
//   - Cost: Add, Get and Done take constant time, with a few priorities in use. AddAfter and CancelDelayed take log n.
//     In steady state nothing is allocated. A burst's memory is given back.
//
// # Not guaranteed
//
//   - Fairness between priorities: a lower one waits as long as there is an item of a higher one.
//   - That a worker calls Done. Without it the item is never handed out again, and a drain waits until ShutDown.
//   - That a retry count is remembered: the limiters forget those of all but the last 100,000 items that failed.
//
// Read options, queue, entry, table, ready and delaying first; then alarm, news, shutdown, look and ratelimiting.
package workqueue
