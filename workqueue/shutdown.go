package workqueue

// ShutDown makes the queue take no more items. What waits to be taken can still be taken, after which Get returns
// shutdown=true. Items that are due count as waiting, items that are delayed are dropped. A ShutDownWithDrain that waits
// returns. ShutDown does not wait for workers; when it returns, the queue has no goroutine and no timer.
func (q *Queue[T]) ShutDown() {
	q.closeQueue()
	lock(&q.mu)
	q.shutDowns++
	q.idle.Broadcast()
	q.report.stop()
	q.awaitCallbacksLocked()
	q.mu.Unlock()
	q.lastReport()
}

// ShutDownWithDrain is ShutDown, and waits until every item that was due has been taken and is done: also those that were
// added again while in processing. Without workers that Get and call Done it waits until somebody calls ShutDown. It must
// not be called by a worker that has an item.
func (q *Queue[T]) ShutDownWithDrain() {
	lock(&q.mu)
	q.draining++
	before := q.shutDowns
	q.mu.Unlock()
	q.closeQueue()

	lock(&q.mu)
	for !q.idleLocked() && q.shutDowns == before {
		q.idle.Wait()
	}
	q.draining--
	if q.draining == 0 {
		q.report.stop()
		q.awaitCallbacksLocked()
	}
	q.mu.Unlock()
	q.lastReport()
}

// ShuttingDown reports whether the queue was told to shut down.
func (q *Queue[T]) ShuttingDown() bool {
	lock(&q.mu)
	defer q.mu.Unlock()
	return q.shuttingDown
}

// closeQueue settles what becomes of the delayed items and lets no more in.
func (q *Queue[T]) closeQueue() {
	lock(&q.mu)
	due := 0
	if !q.shuttingDown {
		due, _ = q.moveDueLocked(len(q.delayed.nodes))
		q.shuttingDown = true
		q.delayed.clear(q.table.release)
	}
	q.wake.stop()
	q.work.Broadcast()
	q.mu.Unlock()
	q.reportAdded(due)
}

func (q *Queue[T]) idleLocked() bool { return q.lenLocked() == 0 && q.processing.len == 0 }

// lastReport leaves the metrics with what is true at the end, instead of half a second before it.
func (q *Queue[T]) lastReport() {
	if q.metrics == nil {
		return
	}
	s := q.Stats()
	q.metrics.Unfinished(s.UnfinishedWork, s.LongestRunning)
}
