package workqueue

import (
	"sync"
	"time"
)

// Queue hands out each item that was added to it, to one worker at a time. Make it with [New]. Its methods are safe for
// concurrent use.
//
//	                         due                     Get
//	AddAfter ──▶ (delayed) ───────▶ ( ready ) ───────────────▶ (processing) ──Done──▶ gone
//	                Add ──────────▶  by priority,                   │  ▲ Add, or due
//	                                 then by arrival  ◀──Done── (and dirty)
type Queue[T comparable] struct {
	name    string
	order   Order[T]
	metrics Metrics
	merge   bool

	mu sync.Mutex // guards all below; never held while a metric is reported
	// work is signalled once for each item that becomes ready. Shutdown wakes all workers.
	work sync.Cond
	// idle is for ShutDown and ShutDownWithDrain. With work instead, a signal meant for a worker could wake a drain.
	idle sync.Cond
	// Invariant: an entry in the table has a state.
	table      table[T]
	ready      readyItems[T] // unused if there is an order
	processing entryList[T]
	working    int // length of processing
	delayed    delayHeap[T]
	promises   uint64 // seq of the newest deadline
	alarm      alarm
	// Invariant: once shuttingDown, nothing is delayed.
	shuttingDown bool
	shutDowns    int // calls of ShutDown: one more ends the drains begun before
}

// New returns a queue that has no delays.
func New[T comparable](opts Options[T]) *Queue[T] {
	q := new(Queue[T])
	q.init(opts)
	return q
}

func (q *Queue[T]) init(opts Options[T]) {
	q.name, q.order, q.metrics, q.merge = opts.Name, opts.Order, opts.Metrics, opts.MergeDelayed
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
	if due, _ := q.add(item, priority); due && q.metrics != nil {
		q.metrics.Added()
	}
}

// add reports whether item was not due before, and whether it was accepted at all.
func (q *Queue[T]) add(item T, priority int) (due, accepted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shuttingDown {
		return false, false
	}
	e := q.entryLocked(item)
	if q.merge && e.is(delayed) {
		q.undelayLocked(e)
		priority = max(priority, e.delayPriority)
	}
	return q.makeDueLocked(e, priority), true
}

// makeDueLocked reports whether e was not due before.
func (q *Queue[T]) makeDueLocked(e *entry[T], priority int) bool {
	switch {
	case e.is(ready) && q.order != nil:
		q.order.Touch(e.item)
		return false
	case e.is(ready):
		q.ready.raise(e, priority)
		return false
	case e.is(dirty):
		e.priority = max(e.priority, priority)
		return false
	case e.is(processing):
		e.state |= dirty
		e.priority = priority
	default:
		e.priority = priority
		q.makeReadyLocked(e)
	}
	if q.metrics != nil {
		e.addedAt = time.Now()
	}
	return true
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

// Get waits for an item and hands it to the caller, who must call Done for it. With shutdown true there is no item and
// there will be none: the queue was shut down and is empty.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// GetWithPriority is Get, and says which priority the item had.
func (q *Queue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	item, priority, queued, shutdown := q.take()
	if q.metrics != nil && !shutdown {
		q.metrics.Taken(queued)
	}
	return item, priority, shutdown
}

// take also returns for how long the item was due, if there are metrics.
func (q *Queue[T]) take() (item T, priority int, queued time.Duration, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.lenLocked() == 0 {
		if q.shuttingDown {
			return item, 0, 0, true
		}
		if added := q.moveDueLocked(time.Now()); added > 0 {
			q.mu.Unlock()
			q.reportAdded(added)
			q.mu.Lock()
			continue
		}
		q.work.Wait()
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
		queued = e.startedAt.Sub(e.addedAt)
		q.startReportLocked(e.startedAt)
	}
	return e.item, e.priority, queued, false
}

// Done says that the caller has processed an item that it got from Get. If the item became due meanwhile, it waits to be
// taken again, also when the queue is shutting down. For an item that is not being processed Done does nothing.
func (q *Queue[T]) Done(item T) {
	worked, ok, last := q.finish(item)
	if ok && q.metrics != nil {
		q.metrics.Finished(worked)
		if last {
			q.lastReport()
		}
	}
}

// finish reports how long item was processed, whether it was, and whether that was the last of a queue shut down.
func (q *Queue[T]) finish(item T) (worked time.Duration, ok, last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.table.entries[item]
	if e == nil || !e.is(processing) {
		return 0, false, false
	}
	if q.metrics != nil {
		worked = time.Since(e.startedAt)
	}
	q.processing.remove(e)
	q.working--
	again := e.is(dirty)
	e.state &^= processing | dirty
	if again {
		q.makeReadyLocked(e)
	} else {
		q.releaseLocked(e)
	}
	if q.shuttingDown && q.idleLocked() {
		q.idle.Broadcast()
		last = true
	}
	return worked, true, last
}

// Len returns how many items wait to be taken: neither those in processing nor those that are delayed.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lenLocked()
}

func (q *Queue[T]) lenLocked() int {
	if q.order != nil {
		return q.order.Len()
	}
	return q.ready.len
}

func (q *Queue[T]) idleLocked() bool { return q.lenLocked() == 0 && q.working == 0 }
