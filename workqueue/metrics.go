package workqueue

import "time"

// untold is what happened under the lock and what the metrics have not been told yet. One call of a method fills it, and
// unlockAndTellMetrics empties it. Without metrics it stays empty.
type untold struct {
	retried bool
	added   int // a shutdown or an alarm may make several items due

	taken     bool
	queuedFor time.Duration

	finished bool
	took     time.Duration

	unfinished     bool
	total, longest time.Duration
}

// unlockAndTellMetrics releases the lock, and then calls the user's metrics for what happened meanwhile.
func (q *Queue[T]) unlockAndTellMetrics() {
	metrics := q.opts.Metrics
	if metrics == nil {
		q.mu.Unlock()
		return
	}
	u := q.untold
	q.untold = untold{}
	q.mu.Unlock()

	if u.retried {
		metrics.Retried()
	}
	for range u.added {
		metrics.Added()
	}
	if u.taken {
		metrics.Taken(u.queuedFor)
	}
	if u.finished {
		metrics.Finished(u.took)
	}
	if u.unfinished {
		metrics.Unfinished(u.total, u.longest)
	}
}

func (q *Queue[T]) noteRetriedLocked() {
	if q.opts.Metrics != nil {
		q.untold.retried = true
	}
}

func (q *Queue[T]) noteAddedLocked(e *entry[T]) {
	if q.opts.Metrics != nil {
		e.addedAt = time.Now()
		q.untold.added++
	}
}

func (q *Queue[T]) noteTakenLocked(e *entry[T]) {
	if q.opts.Metrics != nil {
		e.startedAt = time.Now()
		q.untold.taken = true
		q.untold.queuedFor = e.startedAt.Sub(e.addedAt)
	}
}

func (q *Queue[T]) noteFinishedLocked(e *entry[T]) {
	if q.opts.Metrics != nil {
		q.untold.finished = true
		q.untold.took = time.Since(e.startedAt)
	}
}

// noteUnfinishedLocked notes how long the items in processing have been there, all together and the longest of them.
func (q *Queue[T]) noteUnfinishedLocked() {
	if q.opts.Metrics == nil {
		return
	}
	q.untold.unfinished = true
	for e := q.processing.head; e != nil; e = e.next {
		took := time.Since(e.startedAt)
		q.untold.total += took
		q.untold.longest = max(q.untold.longest, took)
	}
}

// startReportsLocked is called whenever an item was taken.
func (q *Queue[T]) startReportsLocked() {
	if q.opts.Metrics != nil && !q.reporting && !q.reportsEnded {
		q.reporting = true
		q.nextReport.set(time.Now().Add(ReportPeriod))
	}
}

// reportUnfinished is called by the alarm. Once no item is in processing, it reports that and stops the reports.
func (q *Queue[T]) reportUnfinished() {
	q.mu.Lock()
	defer q.unlockAndTellMetrics()
	if q.reportsEnded {
		return
	}
	q.noteUnfinishedLocked()
	q.reporting = q.processing.len > 0
	if q.reporting {
		q.nextReport.set(time.Now().Add(ReportPeriod))
	}
}
