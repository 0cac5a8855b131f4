// Package workqueue is the to-do list of a controller: producers add keys of objects, workers take them one by one.
//
// # Five ideas
//
//  1. An entry for each item. One map finds it. It holds the item's state, so there is one place to look.
//  2. An item's life has four states, and a mark for an item that is delayed as well. The picture shows them.
//  3. Waiting items are ordered by priority, and first in first out within a priority.
//  4. Delayed items are in a heap, the next one to be due on top. One alarm serves all of them.
//  5. What happens under the lock is noted, and the metrics are told once the lock is free.
//
// # An item's life
//
//	   AddAfter             Add
//	      │                  │
//	      ▼       due        ▼        Get                  Add, due
//	┌───────────┐      ┌───────────┐ ────▶ ┌────────────┐ ────────▶ ┌──────────────────────┐
//	│  delayed  │ ───▶ │  waiting  │       │ processing │           │ processing and dirty │
//	└───────────┘      └───────────┘       └────────────┘           └──────────────────────┘
//	                         ▲                   │ Done                        │ Done
//	                         │                   ▼                             │
//	                         │                  gone                           │
//	                         └─────────────────────────────────────────────────┘
//
// An item may be delayed and in one of the other three states at the same time: Add does not cancel an AddAfter. An item
// that is only delayed has the state idle. The states say what client-go's sets say:
//
//	state                  in client-go
//	waiting                in the queue and in the dirty set
//	processing             in the processing set
//	processing and dirty   in the processing set and in the dirty set
//	delayed                in the heap of waitingLoop
//
// # Guarantees
//
//   - Duplicates: however often an item is added before it is taken, it is handed out once.
//   - Exclusion: one worker at a time has an item. Added while it is being processed, it comes back after Done.
//   - Order: the highest priority first, and first in first out within a priority. Delayed items come by deadline.
//   - Delays: an item is never due before its deadline. Of two AddAfters the sooner counts. Add does not cancel a
//     pending AddAfter, unless [Options].MergeDelayed asks for that.
//   - Blocking: Get waits for an item. ShutDownWithDrain waits for the workers. ShutDown waits for a callback of the
//     queue's timers that is running. Nothing else waits.
//   - Shutdown: what is waiting or due can still be taken. What is delayed is dropped, and later adds do nothing. A
//     drain returns when every item that was due is done, or when ShutDown is called.
//   - Locks: [Order] is called with the queue's lock held. [Metrics] and rate limiters are called with no lock held.
//   - Goroutines: none while nothing is due. One timer goes off for the next deadline, and with metrics another one for
//     the report of unfinished work. Once ShutDown or ShutDownWithDrain has returned, they are gone.
//   - Cost: Add, Get and Done take constant time, with a few priorities in use. AddAfter and CancelDelayed take log n.
//     In steady state nothing is allocated. After a burst, memory for 16,384 items is kept, and the rest is given back.
//
// # Not guaranteed
//
//   - Fairness between priorities: a lower one waits as long as there is an item of a higher one.
//   - That a worker calls Done. Without it the item is never handed out again, and a drain waits until ShutDown.
//   - That a retry count is remembered: the limiters forget those of all but the last 100,000 items that failed.
//
// [RateLimitingQueue] embeds [DelayingQueue], which embeds [Queue]. They have the methods of client-go's
// TypedRateLimitingInterface, TypedDelayingInterface and TypedInterface. The package knows nothing of Kubernetes and
// never logs.
//
// Read queue first: it follows an item through its life. Then waiting, delays, alarm and shutdown; last metrics, look,
// options and ratelimiting. The rate limiters are in the package limiters.
package workqueue
