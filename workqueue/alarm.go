package workqueue

import "time"

// alarm is a time.AfterFunc timer whose callbacks can be waited for, so that a queue that was shut down leaves no
// goroutine behind. It is used with the queue's lock held.
type alarm struct {
	ring  func() // the callback: it must call clear first and ended last
	timer *time.Timer
	set   bool
	at    instant // when it goes off, if set
	// pending counts the callbacks that will run or are running.
	pending int
}

// setFor makes the alarm go off at the instant at, which is d from now, and not at the one it was set for.
func (a *alarm) setFor(at instant, d time.Duration) {
	a.set, a.at = true, at
	if a.timer == nil {
		a.timer = time.AfterFunc(d, a.ring)
		a.pending++
	} else if !a.timer.Reset(d) {
		// The timer had gone off or was stopped, so this is one callback more.
		a.pending++
	}
}

func (a *alarm) clear() { a.set = false }

func (a *alarm) stop() {
	a.set = false
	if a.timer != nil && a.timer.Stop() {
		a.pending--
	}
}

// ended is the last thing that a callback of a does.
func (q *Queue[T]) ended(a *alarm) {
	lock(&q.mu)
	defer q.mu.Unlock()
	q.endedLocked(a)
}

func (q *Queue[T]) endedLocked(a *alarm) {
	a.pending--
	if a.pending == 0 {
		q.idle.Broadcast()
	}
}

// awaitCallbacksLocked returns when no callback runs or will run; the alarms must have been stopped.
func (q *Queue[T]) awaitCallbacksLocked() {
	for q.wake.pending+q.report.pending > 0 {
		q.idle.Wait()
	}
}

// startReportLocked sets the alarm of Metrics.Unfinished, unless it is set. An idle queue has no alarm.
func (q *Queue[T]) startReportLocked() {
	if !q.report.set && (!q.shuttingDown || q.draining > 0) {
		q.report.setFor(q.now().after(ReportPeriod), ReportPeriod)
	}
}

func (q *Queue[T]) reportUnfinished() {
	lock(&q.mu)
	q.report.clear()
	total, longest := q.unfinishedLocked()
	if q.processing.len > 0 {
		q.startReportLocked()
	}
	q.mu.Unlock()
	q.metrics.Unfinished(total, longest)
	q.ended(&q.report)
}

func (q *Queue[T]) unfinishedLocked() (total, longest time.Duration) {
	now := q.now()
	for e := q.processing.head; e != nil; e = e.next {
		d := time.Duration(now - e.startedAt)
		total += d
		longest = max(longest, d)
	}
	return total, longest
}
