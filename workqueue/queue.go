package workqueue

import (
	"maps"
	"sync"
	"time"
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

	entries    map[T]*entry[T] // every item that is in one of the next three
	waiting    waitingItems[T] // not used with Options.Order
	processing entryList[T]    // in the order in which they were taken
	delayed    delayHeap[T]
	spare      []*entry[T] // blank entries, to be used again
	largest    int         // the most entries that the map has held since it was made

	nextDeadline alarm  // makes delayed items due; set while there are any
	lastSeq      uint64 // seq of the newest deadline

	// Only with metrics.
	untold     untold // what they have not been told yet. Invariant: empty when the lock is free.
	nextReport alarm  // reports the items in processing
	reporting  bool   // nextReport is set

	// Invariant: once shuttingDown, nothing is delayed when the lock is free.
	shuttingDown bool
	shutDowns    int  // calls of ShutDown; a drain that began before one ends with it, a later drain does not
	reportsEnded bool // reporting stays false: a shutdown is about to return
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
	q.nextDeadline.ring = q.deadlineReached
	q.nextReport.ring = q.reportUnfinished
}

// Name returns Options.Name.
func (q *Queue[T]) Name() string { return q.opts.Name }

// Len returns how many items wait to be taken: neither those in processing nor those that are delayed.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lenLocked()
}

// state is where an item is in its life. The functions below make the steps:
//
//	      makeDueLocked               Get                 makeDueLocked
//	idle ──────────────▶ waiting ────────────▶ processing ─────────────▶ processingDirty
//	 ▲                      ▲                      │                           │
//	 └──────────────────────│──────────────────────┘ Done                      │ Done
//	                        └──────────────────────────────────────────────────┘
//
// An item in any state may be delayed as well: from delayLocked to undelayLocked, in delays.go. An entry that is idle and
// not delayed is forgotten by releaseLocked.
type state uint8

const (
	idle            state = iota
	waiting               // due; the next Get may take it
	processing            // a worker took it and has not called Done
	processingDirty       // became due again meanwhile: waiting again at Done
)

// entry is all that the queue knows of one item.
type entry[T comparable] struct {
	item     T
	state    state
	priority int // of an item that is waiting or dirty; it keeps it when it is taken

	// next and prev link the one list that the entry is in: a level of the waiting items, or the items in processing.
	next, prev *entry[T]

	// delayed items are in the delay heap, whatever their state. The fields below count only for them.
	delayed       bool
	deadline      time.Time
	seq           uint64 // of two equal deadlines the lower seq comes first
	delayIndex    int    // place in the heap
	delayPriority int    // priority once the item is due

	// Only with metrics.
	addedAt, startedAt time.Time
}

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
	q.noteRetriedLocked()
	if d <= 0 {
		q.addLocked(item, priority)
		return
	}
	now := time.Now()
	q.moveDueLocked(now) // a deadline that has passed does not swallow this one, even if the alarm is late
	deadline := now.Add(d)
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

// CancelDelayed takes back the item's pending AddAfter, and reports whether there was one. An item that is due, also one
// whose deadline has just passed, stays due.
func (q *DelayingQueue[T]) CancelDelayed(item T) bool {
	q.mu.Lock()
	defer q.unlockAndTellMetrics()
	q.moveDueLocked(time.Now())
	e := q.entries[item]
	if e == nil || !e.delayed {
		return false
	}
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
	q.mu.Lock()
	defer q.unlockAndTellMetrics()
	for q.lenLocked() == 0 && !q.shuttingDown {
		if q.idleIsDueLocked() {
			q.moveDueLocked(time.Now())
		} else {
			q.work.Wait()
		}
	}
	if q.lenLocked() == 0 {
		return item, 0, true
	}
	e := q.popWaitingLocked()
	e.state = processing
	q.processing.pushBack(e)
	q.noteTakenLocked(e)
	q.startReportsLocked()
	return e.item, e.priority, false
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

// spareEntries is for how many items a queue keeps memory when it is empty.
const spareEntries = 16 << 10

// entryLocked returns the entry of item, an idle one if there was none. The caller gives that a state or a delay, since
// nothing else would ever release it.
func (q *Queue[T]) entryLocked(item T) *entry[T] {
	e := q.entries[item]
	if e != nil {
		return e
	}
	last := len(q.spare) - 1
	if last >= 0 {
		e = q.spare[last]
		q.spare = q.spare[:last]
	} else {
		e = new(entry[T])
	}
	e.item = item
	q.entries[item] = e
	q.largest = max(q.largest, len(q.entries))
	return e
}

// releaseLocked forgets e if it is neither due, with a worker nor delayed.
func (q *Queue[T]) releaseLocked(e *entry[T]) {
	if e.state != idle || e.delayed {
		return
	}
	delete(q.entries, e.item)
	if len(q.spare) < spareEntries {
		*e = entry[T]{}
		q.spare = append(q.spare, e)
	}
	if q.largest > spareEntries && len(q.entries) < q.largest/8 {
		q.shrinkLocked()
	}
}

// shrinkLocked copies what is left of a burst, since Go's maps and slices never shrink by themselves.
func (q *Queue[T]) shrinkLocked() {
	q.entries = maps.Collect(maps.All(q.entries))
	q.largest = len(q.entries)
	// Appended to nil: slices.Clone of an empty slice keeps the array.
	q.delayed = append(delayHeap[T](nil), q.delayed...)
	q.waiting.levels = append([]level[T](nil), q.waiting.levels...)
}
