package workqueue

import (
	"sync"
	"time"
)

// Queue hands out each item that was added to it, to one worker at a time. Make it with [New]. Its methods are safe for
// concurrent use.
type Queue[T comparable] struct {
	name    string
	order   Order[T]
	metrics Metrics
	merge   bool
	// drainTaken is Options.DrainTaken.
	drainTaken bool

	mu sync.Mutex // guards all below
	// work is signalled once for each item that becomes ready. A shutdown wakes all workers.
	work sync.Cond
	// idle is for ShutDown and ShutDownWithDrain. With work instead, a signal meant for a worker could wake a drain.
	idle sync.Cond
	// Invariant: an entry in the table has a state.
	table      table[T]
	ready      readyItems[T] // unused if there is an order
	processing entryList[T]
	working    int // length of processing
	delayed    delayHeap[T]
	lastSeq    uint64 // seq of the newest deadline
	alarm      alarm
	news       news
	// Invariant: once shuttingDown, nothing is delayed.
	shuttingDown bool
	shutDowns    int  // calls of ShutDown; each ends the drains that began before it
	reportsEnded bool // a shutdown is about to return
}

// New returns a queue that has no delays.
func New[T comparable](opts Options[T]) *Queue[T] {
	q := new(Queue[T])
	q.init(opts)
	return q
}

func (q *Queue[T]) init(opts Options[T]) {
	q.name, q.order, q.metrics = opts.Name, opts.Order, opts.Metrics
	q.merge, q.drainTaken = opts.MergeDelayed, opts.DrainTaken
	q.work.L, q.idle.L = &q.mu, &q.mu
	q.table.entries = make(map[T]*entry[T])
}

// Name returns Options.Name.
func (q *Queue[T]) Name() string { return q.name }

// Add makes item due now, with priority 0. An item that waits to be taken already is not added twice. One that is being
// processed comes back when it is done. Once the queue is shutting down, Add does nothing.
func (q *Queue[T]) Add(item T) { q.AddWithPriority(item, 0) }

// AddWithPriority is Add with a priority: of the items that are due, Get takes one of the highest. An item that waits
// already is raised to a higher priority and joins its end. It is never lowered.
func (q *Queue[T]) AddWithPriority(item T, priority int) {
	q.mu.Lock()
	defer q.unlock()
	if !q.shuttingDown {
		q.addLocked(item, priority)
	}
}

func (q *Queue[T]) addLocked(item T, priority int) {
	e := q.entryLocked(item)
	if q.merge && e.is(delayed) {
		q.undelayLocked(e)
		priority = max(priority, e.delayPriority)
	}
	q.makeDueLocked(e, priority)
}

// makeDueLocked makes e ready, or dirty if a worker has it.
func (q *Queue[T]) makeDueLocked(e *entry[T], priority int) {
	switch {
	case e.is(ready) && q.order != nil:
		q.order.Touch(e.item)
		return
	case e.is(ready):
		q.ready.raise(e, priority)
		return
	case e.is(dirty):
		e.priority = max(e.priority, priority)
		return
	case e.is(processing):
		e.state |= dirty
		e.priority = priority
	default:
		e.priority = priority
		q.makeReadyLocked(e)
	}
	if q.metrics != nil {
		e.addedAt = time.Now()
		q.news.added++
	}
}

func (q *Queue[T]) makeReadyLocked(e *entry[T]) {
	e.state |= ready
	if q.order != nil {
		q.order.Push(e.item)
	} else {
		q.ready.push(e)
	}
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
	q.mu.Lock()
	defer q.unlock()
	if !q.awaitReadyLocked() {
		return item, 0, true
	}
	var e *entry[T]
	if q.order != nil {
		e = q.entryLocked(q.order.Pop())
	} else {
		e = q.ready.pop()
	}
	e.state = e.state&^ready | processing
	q.processing.pushBack(e)
	q.working++
	if q.metrics != nil {
		e.startedAt = time.Now()
		q.news.taken, q.news.queued = true, e.startedAt.Sub(e.addedAt)
		q.startReportLocked(e.startedAt)
	}
	return e.item, e.priority, false
}

// awaitReadyLocked waits until an item is ready. It returns false if the queue is shutting down and none is.
func (q *Queue[T]) awaitReadyLocked() bool {
	for q.lenLocked() == 0 {
		if q.shuttingDown {
			return false
		}
		// Get itself moves items whose deadline has passed: waiting for the alarm's goroutine takes three times as
		// long.
		q.moveDueLocked(time.Now())
		if q.news.added > 0 { // Metrics hear of it before this worker waits.
			q.unlock()
			q.mu.Lock()
		} else if q.lenLocked() == 0 {
			q.work.Wait()
		}
	}
	return true
}

// Done says that the caller has processed an item that it got from Get. If the item became due meanwhile, it waits to
// be taken again, also when the queue is shutting down. For an item that is not being processed Done does nothing.
func (q *Queue[T]) Done(item T) {
	q.mu.Lock()
	defer q.unlock()
	e := q.table.entries[item]
	if e == nil || !e.is(processing) {
		return
	}
	q.processing.remove(e)
	q.working--
	if q.metrics != nil {
		q.news.finished, q.news.worked = true, time.Since(e.startedAt)
	}
	again := e.is(dirty)
	e.state &^= processing | dirty
	if again {
		q.makeReadyLocked(e)
	} else {
		q.releaseLocked(e)
	}
	if q.shuttingDown && q.working == 0 {
		q.idle.Broadcast()
		q.reportLocked()
	}
}

// Len returns how many items wait to be taken: neither those in processing nor those that are delayed.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.unlock()
	return q.lenLocked()
}

func (q *Queue[T]) lenLocked() int {
	if q.order != nil {
		return q.order.Len()
	}
	return q.ready.len
}
