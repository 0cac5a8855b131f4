package workqueue

import "time"

// ShutDown makes the queue take no more items. What waits can still be taken, after which Get returns shutdown=true.
// Items that are due count as waiting, items that are delayed are dropped. It releases a ShutDownWithDrain that is
// waiting. ShutDown does not wait for workers. When it returns, the queue has no goroutine and no timer.
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	q.closeLocked()
	q.shutDowns++
	q.drains.Broadcast()
	q.unlockAndTellMetrics()

	q.endAlarms()
}

// ShutDownWithDrain is ShutDown, and waits until every item that was due has been taken and is done. That includes
// items added again while in processing. Without workers that Get and call Done it waits until somebody calls ShutDown.
// It must not be called by a worker that has an item. With [Options].DrainTaken it waits only until no worker has one.
func (q *Queue[T]) ShutDownWithDrain() {
	q.mu.Lock()
	q.closeLocked()
	shutDownsBefore := q.shutDowns
	q.unlockAndTellMetrics() // The metrics hear of what was due before the drain waits.

	q.mu.Lock()
	for q.undrainedLocked() > 0 && q.shutDowns == shutDownsBefore {
		q.drains.Wait()
	}
	q.mu.Unlock()

	q.endAlarms()
}

// ShuttingDown reports whether the queue was told to shut down.
func (q *Queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shuttingDown
}

// closeLocked makes due what has passed its deadline, drops the other delayed items, and lets no more items in.
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

// undrainedLocked returns how many items a drain still waits for.
func (q *Queue[T]) undrainedLocked() int {
	if q.opts.DrainTaken {
		return q.processing.len
	}
	return q.lenLocked() + q.processing.len
}

// endAlarms is the end of each shutdown. Nothing sets the alarms again: the queue is closed, and reports have ended. It
// waits for a call that is running, and then tells the metrics what is still being processed.
func (q *Queue[T]) endAlarms() {
	q.mu.Lock()
	q.reportsEnded = true
	q.reporting = false
	q.nextDeadline.stop()
	q.nextReport.stop()
	q.mu.Unlock()

	q.nextDeadline.calls.Wait()
	q.nextReport.calls.Wait()

	q.mu.Lock()
	q.noteUnfinishedLocked()
	q.unlockAndTellMetrics()
}
