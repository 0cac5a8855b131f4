package workqueue

import (
	"sync"
	"time"
)

// Queue hands out each item that was added to it, to one worker at a time. Make it with [New]. Its methods are safe for
// concurrent use; only Get and ShutDownWithDrain wait for others.
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
	epoch   time.Time // instant 0

	mu     sync.Mutex // guards all below; never held while a metric is reported
	readAt instant    // what the clock said when it was last read
	// work is signalled when an item is ready, and at shutdown. waiting counts those who wait on it, the woken one
	// included; waking is set from a signal until that worker has the lock.
	// Invariant: if items are ready and workers wait, waking is set.
	work    sync.Cond
	waiting int
	waking  bool
	// idle is signalled when a drain or a shutdown may have come to its end. Not the same as work, where a signal meant for
	// a worker could wake the drain instead.
	idle sync.Cond
	// Invariant: an entry in the table is ready, processing or delayed.
	table      table[T]
	ready      readyItems[T]
	processing list[T]
	delayed    delayHeap[T]
	// Invariant: if something is delayed, wake is set for its deadline or earlier, or its callback is under way.
	wake   alarm
	report alarm
	// Invariant: once shuttingDown, nothing is delayed.
	shuttingDown bool
	shutDowns    int // calls of ShutDown: one more ends the drains begun before
	draining     int // calls of ShutDownWithDrain that have not returned
}

// New returns a queue that has no delays.
func New[T comparable](opts Options[T]) *Queue[T] {
	q := new(Queue[T])
	q.init(opts)
	return q
}

func (q *Queue[T]) init(opts Options[T]) {
	q.name, q.order, q.metrics, q.merge = opts.Name, opts.Order, opts.Metrics, opts.MergeDelayed
	q.epoch = time.Now()
	q.work.L, q.idle.L = &q.mu, &q.mu
	q.table.init()
	q.wake.ring, q.report.ring = q.wakeUp, q.reportUnfinished
}

// Name returns Options.Name.
func (q *Queue[T]) Name() string { return q.name }

// Add makes item due now, with priority 0. An item that waits to be taken already is not added twice; one that is being
// processed comes back when it is done. Once the queue is shutting down, Add does nothing.
func (q *Queue[T]) Add(item T) { q.AddWithPriority(item, 0) }

// AddWithPriority is Add with a priority: of the items that are due, Get takes one of the highest. An item that waits
// already is raised to a higher priority, joining it behind those who are there, and never lowered.
func (q *Queue[T]) AddWithPriority(item T, priority int) {
	if due, _ := q.add(item, priority); due && q.metrics != nil {
		q.metrics.Added()
	}
}

// add reports whether item was not due before, and whether it was accepted at all.
func (q *Queue[T]) add(item T, priority int) (due, accepted bool) {
	hash := q.table.hash(item)
	lock(&q.mu)
	defer q.mu.Unlock()
	if q.shuttingDown {
		return false, false
	}
	if q.table.len == 0 && q.largeLocked() {
		q.beginRoundLocked()
	}
	e := q.table.get(item, hash)
	if q.merge && e.delayed() {
		q.delayed.remove(e)
		priority = max(priority, e.delayPriority)
	}
	return q.makeDueLocked(e, priority), true
}

// makeDueLocked reports whether e was not due before.
func (q *Queue[T]) makeDueLocked(e *entry[T], priority int) bool {
	switch {
	case e.is(ready):
		q.touchLocked(e, priority)
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
		e.addedAt = q.now()
	}
	return true
}

func (q *Queue[T]) touchLocked(e *entry[T], priority int) {
	if q.order != nil {
		q.order.Touch(e.item)
		return
	}
	q.ready.raise(e, priority)
}

func (q *Queue[T]) makeReadyLocked(e *entry[T]) {
	e.state |= ready
	if q.order != nil {
		q.order.Push(e.item)
	} else {
		q.ready.push(e)
	}
	q.wakeWorkerLocked()
}

// wakeWorkerLocked wakes one waiting worker, unless one is awake already and on its way: that one will wake the next. So
// a burst of adds does not send all workers into a race for the lock.
func (q *Queue[T]) wakeWorkerLocked() {
	if q.waiting > 0 && !q.waking {
		q.waking = true
		q.work.Signal()
	}
}

// Get waits for an item and hands it to the caller, who must call Done for it. With shutdown true there is no item and
// there will be none: the queue was shut down and is empty.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// GetWithPriority is Get, and says which priority the item had.
func (q *Queue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	for {
		var t taken[T]
		q.take(&t)
		if q.metrics != nil {
			q.reportAdded(t.added)
			if t.ok {
				q.metrics.Taken(t.queued)
			}
		}
		if t.ok || t.shutdown {
			return t.item, t.priority, t.shutdown
		}
	}
}

// taken is what came of a look into the queue: an item, or the end, or neither, if some delayed items are due and have to
// be reported but none of them can be taken.
type taken[T comparable] struct {
	item         T
	priority     int
	ok, shutdown bool
	queued       time.Duration // how long the item was due; for metrics only
	added        int           // delayed items that were found to be due
}

// take waits for one of these and fills t, which must be zero.
func (q *Queue[T]) take(t *taken[T]) {
	lock(&q.mu)
	defer q.mu.Unlock()
	for q.lenLocked() == 0 {
		if q.shuttingDown {
			t.shutdown = true
			return
		}
		if t.added = q.helpLocked(); t.added > 0 {
			if q.lenLocked() == 0 {
				return
			}
			break
		}
		q.waiting++
		q.work.Wait()
		q.waiting--
		q.waking = false
	}
	var e *entry[T]
	if q.order != nil {
		next := q.order.Pop()
		e = q.table.get(next, q.table.hash(next))
	} else {
		e = q.ready.pop()
	}
	e.state = processing
	q.processing.pushBack(e)
	if q.lenLocked() > 0 {
		q.wakeWorkerLocked()
	}
	if q.metrics != nil {
		e.startedAt = q.now()
		t.queued = time.Duration(e.startedAt - e.addedAt)
		q.startReportLocked()
	}
	t.item, t.priority, t.ok = e.item, e.priority, true
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
	lock(&q.mu)
	defer q.mu.Unlock()
	e := q.inProcessingLocked(item)
	if e == nil {
		return 0, false, false
	}
	if q.metrics != nil {
		worked = time.Duration(q.now() - e.startedAt)
	}
	q.processing.remove(e)
	again := e.is(dirty)
	e.state = 0
	if again {
		q.makeReadyLocked(e)
	} else {
		q.table.release(e)
	}
	if q.shuttingDown && q.idleLocked() {
		q.idle.Broadcast()
		last = true
	}
	return worked, true, last
}

// scanned is how many items in processing are compared with the one that is done before it is looked up by its hash: few
// workers' items are found sooner by looking at them.
const scanned = 8

func (q *Queue[T]) inProcessingLocked(item T) *entry[T] {
	e := q.processing.head
	for range scanned {
		if e == nil {
			return nil
		}
		if e.item == item {
			return e
		}
		e = e.next
	}
	if e = q.table.find(item, q.table.hash(item)); e == nil || !e.is(processing) {
		return nil
	}
	return e
}

// Len returns how many items wait to be taken: neither those in processing nor those that are delayed.
func (q *Queue[T]) Len() int {
	lock(&q.mu)
	defer q.mu.Unlock()
	return q.lenLocked()
}

func (q *Queue[T]) lenLocked() int {
	if q.order != nil {
		return q.order.Len()
	}
	return q.ready.len
}

// Stats returns the queue's numbers. The time it takes grows with the number of items in processing.
func (q *Queue[T]) Stats() Stats {
	lock(&q.mu)
	defer q.mu.Unlock()
	s := Stats{Queued: q.lenLocked(), Processing: q.processing.len, Delayed: len(q.delayed.nodes)}
	if q.metrics != nil {
		s.UnfinishedWork, s.LongestRunning = q.unfinishedLocked()
	}
	return s
}

// now reads the clock. It is called with the lock held.
func (q *Queue[T]) now() instant {
	q.readAt = instant(time.Since(q.epoch))
	return q.readAt
}
