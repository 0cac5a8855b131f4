package workqueue

import "time"

// ShutDown makes the queue take no more items. What waits can still be taken, after which Get returns shutdown=true.
// Items that are due count as waiting, items that are delayed are dropped. A ShutDownWithDrain that waits returns.
// ShutDown does not wait for workers. When it returns, the queue has no goroutine and no timer.
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	q.shutDowns++
	due := q.closeLocked()
	q.idle.Broadcast()
	q.mu.Unlock()
	q.reportAdded(due)
	q.end()
}

// ShutDownWithDrain is ShutDown, and waits until every item that was due has been taken and is done: also those that were
// added again while in processing. Without workers that Get and call Done it waits until somebody calls ShutDown. It must
// not be called by a worker that has an item.
func (q *Queue[T]) ShutDownWithDrain() {
	q.mu.Lock()
	before := q.shutDowns
	due := q.closeLocked()
	q.mu.Unlock()
	q.reportAdded(due)

	q.mu.Lock()
	for !q.idleLocked() && q.shutDowns == before {
		q.idle.Wait()
	}
	q.mu.Unlock()
	q.end()
}

// ShuttingDown reports whether the queue was told to shut down.
func (q *Queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shuttingDown
}

// closeLocked lets no more items in, and returns how many of the delayed ones were due.
func (q *Queue[T]) closeLocked() (due int) {
	if q.shuttingDown {
		return 0
	}
	q.shuttingDown = true
	due = q.moveDueLocked(time.Now())
	dropped := q.delayed
	q.delayed = nil
	for _, e := range dropped {
		e.state &^= delayed
		q.releaseLocked(e)
	}
	q.work.Broadcast()
	return due
}

// end leaves the queue without goroutine and timer, and the metrics with what is true now.
func (q *Queue[T]) end() {
	q.mu.Lock()
	q.endAlarmLocked()
	q.mu.Unlock()
	q.lastReport()
}

// lastReport tells the metrics what is true at the end, instead of half a second before it.
func (q *Queue[T]) lastReport() {
	if q.metrics == nil {
		return
	}
	s := q.Stats()
	q.metrics.Unfinished(s.UnfinishedWork, s.LongestRunning)
}
