package workqueue

import "time"

// untold is what happened under the lock and what the metrics have not been told yet. One call of a method fills it, and
// unlockAndTellMetrics empties it. Nobody waits for a Cond while it is filled. Without metrics it is never read.
type untold struct {
	retried bool
	added   int // a shutdown or the timer may make several items due

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

func (q *Queue[T]) noteAddedLocked(e *entry[T]) {
	if q.opts.Metrics != nil {
		e.addedAt = time.Now()
		q.untold.added++
	}
}

// noteTakenLocked also begins to report unfinished work, since there is some now.
func (q *Queue[T]) noteTakenLocked(e *entry[T]) {
	if q.opts.Metrics == nil {
		return
	}
	e.startedAt = time.Now()
	q.untold.taken = true
	q.untold.queuedFor = e.startedAt.Sub(e.addedAt)
	if q.reportAt.IsZero() && !q.reportsEnded {
		q.reportAt = e.startedAt.Add(ReportPeriod)
		q.setTimerLocked()
	}
}

func (q *Queue[T]) noteFinishedLocked(e *entry[T]) {
	if q.opts.Metrics != nil {
		q.untold.finished = true
		q.untold.took = time.Since(e.startedAt)
	}
}

func (q *Queue[T]) noteUnfinishedLocked() {
	if q.opts.Metrics != nil {
		q.untold.unfinished = true
		q.untold.total, q.untold.longest = q.unfinishedLocked()
	}
}

// reportIfTimeLocked notes the unfinished work if it is time for that, and plans the next report if there is any left.
func (q *Queue[T]) reportIfTimeLocked(now time.Time) {
	if q.reportAt.IsZero() || q.reportAt.After(now) {
		return
	}
	q.noteUnfinishedLocked()
	if q.processing.len > 0 {
		q.reportAt = now.Add(ReportPeriod)
	} else {
		q.reportAt = time.Time{}
	}
}

// unfinishedLocked returns how long the items in processing have been there, all together and the longest of them.
func (q *Queue[T]) unfinishedLocked() (total, longest time.Duration) {
	for e := q.processing.head; e != nil; e = e.next {
		took := time.Since(e.startedAt)
		total += took
		longest = max(longest, took)
	}
	return total, longest
}
