package workqueue

import (
	"sync"
	"time"

	"glasswatch/workqueue/limiters"
)

// Queue hands out each item that was added to it, to one worker at a time. Make it with [New]. Its methods are safe for
// concurrent use.
type Queue[T comparable] struct {
	opts Options[T]

	mu sync.Mutex // guards all below
	// work is signalled once for each item that begins to wait. A shutdown wakes all workers.
	work sync.Cond
	// drains are waiting for the workers. With one Cond for both, a signal meant for a worker could wake a drain.
	drains sync.Cond

	entries map[T]*entry[T] // those that are waiting, delayed or processing
	spare   []*entry[T]     // blank ones, to be used again
	largest int             // the most entries that the map has held since it was made

	waiting    waitingItems[T] // not used with Options.Order
	processing entryList[T]    // in the order in which they were taken

	delayed  delayHeap[T]
	lastSeq  uint64      // seq of the newest deadline
	timer    *time.Timer // nil until it is first set
	reportAt time.Time   // when unfinished work is reported next; zero if it is not
	// callbacks of the timer, those that will run or are running. Whoever sets the timer adds one. It is done at the
	// callback's end, or by whoever stops the timer before.
	callbacks sync.WaitGroup

	untold untold // what the metrics have not been told yet

	// Invariant: once shuttingDown, nothing is delayed when the lock is free.
	shuttingDown bool
	shutDowns    int  // calls of ShutDown; a drain that began before one ends with it, a later drain does not
	reportsEnded bool // no report of unfinished work is made any more: a shutdown is about to return
}

// New returns a queue that has no delays.
func New[T comparable](opts Options[T]) *Queue[T] {
	q := new(Queue[T])
	q.init(opts)
	return q
}

func (q *Queue[T]) init(opts Options[T]) {
	q.opts = opts
	q.work.L = &q.mu
	q.drains.L = &q.mu
	q.entries = make(map[T]*entry[T])
}

// DelayingQueue is a [Queue] whose items can be due later. Make it with [NewDelaying]. All that it needs is in the Queue:
// it only has the methods.
type DelayingQueue[T comparable] struct {
	Queue[T]
}

// NewDelaying returns a queue with delays.
func NewDelaying[T comparable](opts Options[T]) *DelayingQueue[T] {
	q := new(DelayingQueue[T])
	q.init(opts)
	return q
}

// Name returns Options.Name.
func (q *Queue[T]) Name() string { return q.opts.Name }

// Add makes item due now, with priority 0. An item that waits to be taken already is not added twice. One that is being
// processed comes back when it is done. Once the queue is shutting down, Add does nothing.
func (q *Queue[T]) Add(item T) { q.AddWithPriority(item, 0) }

// AddWithPriority is Add with a priority: of the items that are due, Get takes one of the highest. An item that waits
// already is raised to a higher priority and joins its end. It is never lowered.
func (q *Queue[T]) AddWithPriority(item T, priority int) {
	q.mu.Lock()
	defer q.unlockAndTellMetrics()
	if !q.shuttingDown {
		q.addLocked(item, priority)
	}
}

func (q *Queue[T]) addLocked(item T, priority int) {
	e := q.entryLocked(item)
	if q.opts.MergeDelayed && e.delayed {
		q.undelayLocked(e)
		priority = max(priority, e.delayPriority)
	}
	q.makeDueLocked(e, priority)
}

// AddAfter makes item due when d has passed: then it is added as by Add. A d of zero or less is Add. Of two calls for
// an item the sooner deadline counts, until it has passed. Once the queue is shutting down, AddAfter does nothing.
func (q *DelayingQueue[T]) AddAfter(item T, d time.Duration) { q.AddAfterWithPriority(item, d, 0) }

// AddAfterWithPriority is AddAfter with the priority that the item is to have once it is due. Of two calls the higher
// priority counts.
func (q *DelayingQueue[T]) AddAfterWithPriority(item T, d time.Duration, priority int) {
	q.mu.Lock()
	defer q.unlockAndTellMetrics()
	if q.shuttingDown {
		return
	}
	q.untold.retried = true
	if d <= 0 {
		q.addLocked(item, priority)
		return
	}
	deadline := time.Now().Add(d)
	e := q.entryLocked(item)
	isDue := e.state == waiting || e.state == processingDirty
	switch {
	case e.delayed:
		e.delayPriority = max(e.delayPriority, priority)
		if deadline.Before(e.deadline) {
			q.undelayLocked(e)
			q.delayLocked(e, deadline)
		}
	case q.opts.MergeDelayed && isDue:
		q.makeDueLocked(e, priority)
	default:
		e.delayPriority = priority
		q.delayLocked(e, deadline)
	}
}

// CancelDelayed takes back the item's pending AddAfter, and reports whether there was one. A due item stays due.
func (q *DelayingQueue[T]) CancelDelayed(item T) bool {
	q.mu.Lock()
	defer q.unlockAndTellMetrics()
	e := q.entries[item]
	if e == nil || !e.delayed {
		return false
	}
	// The timer stays as it is: at worst it goes off for nothing.
	q.undelayLocked(e)
	q.releaseLocked(e)
	return true
}

// makeDueLocked is where an Add ends, and an AddAfter when its time has come.
func (q *Queue[T]) makeDueLocked(e *entry[T], priority int) {
	switch e.state {
	case idle:
		e.priority = priority
		q.noteAddedLocked(e)
		q.putInWaitingLocked(e)
	case waiting:
		q.raiseWaitingLocked(e, priority)
	case processing:
		e.priority = priority
		q.noteAddedLocked(e)
		e.state = processingDirty
	case processingDirty:
		e.priority = max(e.priority, priority)
	}
}

// putInWaitingLocked stores e among the waiting items, and wakes a worker.
func (q *Queue[T]) putInWaitingLocked(e *entry[T]) {
	e.state = waiting
	q.pushWaitingLocked(e)
	q.work.Signal()
}

// Get waits for an item and hands it to the caller, who must call Done for it. With shutdown true there is no item: the
// queue was shut down, and nothing waits. An item that was added again while in processing still comes back after Done,
// so its worker must call Get once more.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// GetWithPriority is Get, and says which priority the item had.
func (q *Queue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	for again := true; again; {
		item, priority, shutdown, again = q.take()
	}
	return item, priority, shutdown
}

// take waits until an item waits to be taken, or none will because the queue is shutting down. If an item in processing
// becomes dirty instead, it asks to be called again: the metrics hear of that before this worker waits.
func (q *Queue[T]) take() (item T, priority int, shutdown, again bool) {
	q.mu.Lock()
	defer q.unlockAndTellMetrics()
	for q.lenLocked() == 0 && !q.shuttingDown {
		// Get itself looks for what is due: waiting for the timer's goroutine takes three times as long.
		q.moveDueLocked(time.Now())
		if q.lenLocked() > 0 {
			break
		}
		if q.untold.added > 0 {
			return item, 0, false, true
		}
		q.work.Wait()
	}
	if q.lenLocked() == 0 {
		return item, 0, true, false
	}
	e := q.popWaitingLocked()
	e.state = processing
	q.processing.pushBack(e)
	q.noteTakenLocked(e)
	return e.item, e.priority, false, false
}

// Done says that the caller has processed an item that it got from Get. If the item became due meanwhile, it waits to
// be taken again, also when the queue is shutting down. For an item that is not being processed Done does nothing.
func (q *Queue[T]) Done(item T) {
	q.mu.Lock()
	defer q.unlockAndTellMetrics()
	e := q.entries[item]
	if e == nil || e.state != processing && e.state != processingDirty {
		return
	}
	q.processing.remove(e)
	q.noteFinishedLocked(e)
	if e.state == processingDirty {
		q.putInWaitingLocked(e)
	} else {
		e.state = idle
		q.releaseLocked(e)
	}
	if q.shuttingDown && q.processing.len == 0 {
		q.drains.Broadcast()
		q.noteUnfinishedLocked()
	}
}

// Len returns how many items wait to be taken: neither those in processing nor those that are delayed.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.unlockAndTellMetrics()
	return q.lenLocked()
}

// RateLimiter decides how long an item waits before it is tried again. The queue calls it with no lock held.
type RateLimiter[T comparable] = limiters.RateLimiter[T]

// RateLimitingQueue is a [DelayingQueue] that knows how long a failed item is to wait. Make it with [NewRateLimiting].
type RateLimitingQueue[T comparable] struct {
	DelayingQueue[T]
	limiter RateLimiter[T]
}

// NewRateLimiting returns a queue with delays and a rate limiter.
func NewRateLimiting[T comparable](opts Options[T]) *RateLimitingQueue[T] {
	q := &RateLimitingQueue[T]{limiter: opts.RateLimiter}
	if q.limiter == nil {
		q.limiter = limiters.DefaultControllerRateLimiter[T]()
	}
	q.init(opts)
	return q
}

// AddRateLimited is AddAfter with the delay that the rate limiter gives.
func (q *RateLimitingQueue[T]) AddRateLimited(item T) { q.AddRateLimitedWithPriority(item, 0) }

// AddRateLimitedWithPriority is AddAfterWithPriority with the delay that the rate limiter gives.
func (q *RateLimitingQueue[T]) AddRateLimitedWithPriority(item T, priority int) {
	delay := q.limiter.When(item)
	q.AddAfterWithPriority(item, delay, priority)
}

// Forget tells the rate limiter that item succeeded or was given up. Done has to be called all the same.
func (q *RateLimitingQueue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues returns how often the rate limiter was asked about item since it was last forgotten.
func (q *RateLimitingQueue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// Tracked returns for how many items the rate limiter remembers retries. A number that keeps growing means that
// somebody does not call Forget. It is 0 if the limiter has no method Tracked() int.
func (q *RateLimitingQueue[T]) Tracked() int { return limiters.Tracked(q.limiter) }
