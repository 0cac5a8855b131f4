// Package workqueue is the to-do list between those who notice changes and those who act on them: producers add items
// (keys of objects), workers take them one by one.
//
//	            AddAfter, AddRateLimited
//	                     │
//	                     ▼            due
//	              ┌─────────────┐  (one timer)   ┌──────────────────────┐  Get   ┌────────────┐  Done
//	              │ delay heap  │ ─────────────▶ │ priority +1 │ ▒▒     │ ─────▶ │ processing │ ──────▶ gone
//	              └─────────────┘                │ priority  0 │ ▒▒▒▒▒▒ │        └────────────┘
//	Add, AddWithPriority ──────────────────────▶ │ priority −1 │ ▒▒▒▒   │ ◀───────────┘ if added meanwhile
//	                                             └──────────────────────┘
//
// Three types, each embedding the one before: [Queue], [DelayingQueue], [RateLimitingQueue]. Their method sets are those of
// client-go's TypedInterface, TypedDelayingInterface and TypedRateLimitingInterface; the limiters are its TypedRateLimiters.
// The package knows nothing of Kubernetes and never logs.
//
// # What a queue promises
//
//   - Duplicates: however often an item is added before it is taken, it is handed out once.
//   - Exclusion: an item is with one worker at a time. Added while it is being processed, it comes back after Done, so
//     whoever takes it sees all that was true when it was last added.
//   - Order: the highest priority first; within a priority first in, first out; of the delayed, by deadline. An item that is
//     raised in priority joins the end of its new level.
//   - Delays: an item is never due before its deadline. Of two AddAfters the sooner counts; Add does not cancel a later
//     AddAfter, unless [Options].MergeDelayed asks for that. An item due twice before it is taken is delivered once.
//   - Blocking: Get waits for an item, ShutDownWithDrain for the workers, and ShutDown for a callback of the queue's own
//     timer that is just running. Nothing else waits for anybody.
//   - Shutdown: what is queued or due can still be taken; what is delayed is dropped, since the next start will find it
//     again by listing; later adds do nothing. A drain returns when every item that was due has been taken and is done,
//     or when ShutDown is called.
//   - Goroutines: none while nothing is due. One timer is set for the earliest deadline, and a worker that finds nothing
//     else to do looks for what is due itself; with metrics, a second timer reports unfinished work while there is some.
//     Once ShutDown has returned, or ShutDownWithDrain, both are gone.
//   - Cost: Add, Get and Done take constant time (with n priorities in use log n), AddAfter and CancelDelayed log n in the
//     number of delayed items. In steady state nothing is allocated, also if the queue fills and empties again and again;
//     what a burst took is given back once the queue fills and empties with less than a quarter of it.
//
// # What it does not promise
//
//   - Fairness between priorities: as long as there is an item of a higher priority, a lower one waits (strict priorities).
//     Whoever cannot have that adds the waiting item again with a higher one.
//   - That a worker calls Done. An item taken and never done is never handed out again and blocks a drain until ShutDown.
//   - Persistence: items live in memory.
//   - Unlimited memory for retries: a limiter remembers the last [DefaultMaxTracked] items that failed (see [Counts]).
//
// # Where client-go differs
//
// Its delaying queue runs a goroutine, which ShutDown does not wait for and which outlives ShutDownWithDrain by up to
// ten seconds; its ShutDownWithDrain waits for items in processing but not for those still queued, so that a drain
// without workers returns at once where this one waits for a ShutDown; of two drains one may wait on, and a second
// ShutDown ends none; Done for an item that is queued and was not taken queues it twice; a delayed item cannot be
// cancelled, nor merged with an Add, there are no priorities, and retry counts of items that nobody forgets grow
// without bound.
package workqueue
