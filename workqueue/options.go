package workqueue

import "time"

// Options configure a queue. The zero value is useful: a FIFO queue without metrics and, where there is a rate limiter,
// the default one.
type Options[T comparable] struct {
	// Name is for those who read metrics and logs; the queue itself only hands it back.
	Name string
	// RateLimiter is used by [NewRateLimiting] only; nil means [limiters.DefaultControllerRateLimiter].
	RateLimiter RateLimiter[T]
	// Metrics is told what happens; nil costs nothing.
	Metrics Metrics
	// MergeDelayed makes Add and AddAfter one promise: an item is delivered once, at the sooner of the two. Add then
	// cancels the item's pending AddAfter, and AddAfter of a waiting item can only raise its priority. Without it
	// Add leaves a pending AddAfter as it is: the item may come out twice.
	MergeDelayed bool
	// DrainTaken makes ShutDownWithDrain wait only for items that a worker has taken, as in client-go. Without it, it
	// also waits for items that are due and that no worker has taken yet.
	DrainTaken bool
	// Order replaces the order in which items are taken; nil means by priority, first in first out within one.
	Order Order[T]
}

// Order stores the items that wait to be taken, and so decides which is next. It does not hear of priorities. Its
// methods are called with the queue's lock held: they must be fast and must not call the queue.
type Order[T comparable] interface {
	// Touch says that a stored item was added again.
	Touch(item T)
	// Push stores an item that is not stored.
	Push(item T)
	Len() int
	// Pop removes the next item. It is only called if Len is not 0.
	Pop() T
}

// Metrics is told what happens in a queue. Its methods are called with no lock held. They must not call the queue: the
// queue's timers call them as well, and a shutdown waits for that. Several goroutines may call at a time, and not
// always in the order in which things happened. The depth is Added less Taken.
type Metrics interface {
	// Added: an item became due that was not due before. Repeated adds that changed nothing are not counted.
	Added()
	// Taken: Get handed an item out that had been due for queued.
	Taken(queued time.Duration)
	// Finished: Done was called for an item that had been processed for worked.
	Finished(worked time.Duration)
	// Unfinished is called every [ReportPeriod] while items are being processed, until ShutDown. During a shutdown it
	// is also called whenever the last of them is done, and at the end of each ShutDown. It gets the sum of their times
	// and the longest.
	Unfinished(total, longest time.Duration)
	// Retried: AddAfter or AddRateLimited was called, whatever the delay.
	Retried()
}

// ReportPeriod is the time between two calls of Metrics.Unfinished.
const ReportPeriod = 500 * time.Millisecond
