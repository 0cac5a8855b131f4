package workqueue

import "time"

// ShutDown makes the queue take no more items. What waits can still be taken, after which Get returns shutdown=true.
// Items that are due count as waiting, items that are delayed are dropped. It releases a ShutDownWithDrain that is
// waiting. ShutDown does not wait for workers. When it returns, the queue has no goroutine and no timer.
func (q *Queue[T]) ShutDown() { q.shutDown(false) }

// ShutDownWithDrain is ShutDown, and waits until every item that was due has been taken and is done. That includes
// items added again while in processing. Without workers that Get and call Done it waits until somebody calls ShutDown.
// It must not be called by a worker that has an item. With [Options].DrainTaken it waits only until no worker has one.
func (q *Queue[T]) ShutDownWithDrain() { q.shutDown(true) }

func (q *Queue[T]) shutDown(drain bool) {
	q.mu.Lock()
	if !drain {
		q.shutDowns++
		q.idle.Broadcast()
	}
	before := q.shutDowns
	q.closeLocked()
	q.unlock() // Metrics hear of what was due.
	q.mu.Lock()
	for drain && q.undrainedLocked() > 0 && q.shutDowns == before {
		q.idle.Wait()
	}
	q.reportsEnded = true
	q.endAlarmLocked()
	q.reportLocked()
	q.unlock()
}

// undrainedLocked returns how many items a drain still waits for.
func (q *Queue[T]) undrainedLocked() int {
	if q.drainTaken {
		return q.working
	}
	return q.lenLocked() + q.working
}

// ShuttingDown reports whether the queue was told to shut down.
func (q *Queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.unlock()
	return q.shuttingDown
}

// closeLocked makes ready what has passed its deadline, drops the other delayed items, and lets no more items in.
func (q *Queue[T]) closeLocked() {
	if q.shuttingDown {
		return
	}
	q.shuttingDown = true
	q.moveDueLocked(time.Now())
	for len(q.delayed) > 0 {
		e := q.delayed[0]
		q.undelayLocked(e)
		q.releaseLocked(e)
	}
	q.work.Broadcast()
}
