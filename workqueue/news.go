package workqueue

import "time"

// news is what happened under the lock and what the metrics have not heard of. Without metrics it is not read.
type news struct {
	retried, taken, finished, unfinished bool
	added                                int
	queued, worked, total, longest       time.Duration
}

// unlock releases the lock, and then tells the metrics what happened meanwhile. Every method of the queue ends with it.
func (q *Queue[T]) unlock() {
	if q.metrics == nil {
		q.mu.Unlock()
		return
	}
	n := q.news
	q.news = news{}
	q.mu.Unlock()

	if n.retried {
		q.metrics.Retried()
	}
	for range n.added {
		q.metrics.Added()
	}
	if n.taken {
		q.metrics.Taken(n.queued)
	}
	if n.finished {
		q.metrics.Finished(n.worked)
	}
	if n.unfinished {
		q.metrics.Unfinished(n.total, n.longest)
	}
}

// startReportLocked plans the next call of Metrics.Unfinished, unless one is planned. Once a shutdown has returned there
// is none.
func (q *Queue[T]) startReportLocked(now time.Time) {
	if q.alarm.reportAt.IsZero() && !q.reportsEnded {
		q.alarm.reportAt = now.Add(ReportPeriod)
		q.setAlarmLocked()
	}
}

// reportLocked has the metrics told what is being processed.
func (q *Queue[T]) reportLocked() {
	if q.metrics != nil {
		q.news.unfinished = true
		q.news.total, q.news.longest = q.unfinishedLocked()
	}
}

func (q *Queue[T]) unfinishedLocked() (total, longest time.Duration) {
	for e := q.processing.head; e != nil; e = e.next {
		worked := time.Since(e.startedAt)
		total += worked
		longest = max(longest, worked)
	}
	return total, longest
}
