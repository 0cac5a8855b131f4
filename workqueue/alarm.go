package workqueue

import "time"

// alarm is the queue's only timer. It goes off for the next deadline, and with metrics for the next report.
type alarm struct {
	timer *time.Timer
	at    time.Time // when it goes off; zero if it is not set
	// reportAt is when unfinished work is reported next; zero if it is not.
	reportAt time.Time
	// callbacks counts those that will run or are running. ShutDown waits until there are none.
	callbacks int
}

// setAlarmLocked sets the alarm for the next thing to do, unless it goes off before that anyway.
func (q *Queue[T]) setAlarmLocked() {
	a := &q.alarm
	next := a.reportAt
	if len(q.delayed) > 0 && (next.IsZero() || q.delayed[0].due.Before(next)) {
		next = q.delayed[0].due
	}
	if next.IsZero() || !a.at.IsZero() && !next.Before(a.at) {
		return
	}
	a.at = next
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(next), q.ring)
		a.callbacks++
	} else if !a.timer.Reset(time.Until(next)) {
		// The timer had gone off or was stopped, so this is one callback more.
		a.callbacks++
	}
}

// ring is the timer's callback.
func (q *Queue[T]) ring() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.alarm.at = time.Time{}
	added := q.moveDueLocked(now)
	report := !q.alarm.reportAt.IsZero() && !q.alarm.reportAt.After(now)
	total, longest := time.Duration(0), time.Duration(0)
	if report {
		q.alarm.reportAt = time.Time{}
		total, longest = q.unfinishedLocked(now)
		if q.working > 0 {
			q.startReportLocked(now)
		}
	}
	q.setAlarmLocked()
	if q.metrics != nil {
		q.mu.Unlock()
		q.reportAdded(added)
		if report {
			q.metrics.Unfinished(total, longest)
		}
		q.mu.Lock()
	}
	q.callbackGoneLocked()
}

// callbackGoneLocked is called wherever callbacks falls, so that nobody misses that it became 0.
func (q *Queue[T]) callbackGoneLocked() {
	q.alarm.callbacks--
	if q.alarm.callbacks == 0 {
		q.idle.Broadcast()
	}
}

// endAlarmLocked returns when no callback runs or will run. It is called when nothing can set the alarm any more.
func (q *Queue[T]) endAlarmLocked() {
	a := &q.alarm
	a.at, a.reportAt = time.Time{}, time.Time{}
	if a.timer != nil && a.timer.Stop() {
		q.callbackGoneLocked()
	}
	for a.callbacks > 0 {
		q.idle.Wait()
	}
}

// startReportLocked plans the next call of Metrics.Unfinished, unless one is planned. After ShutDown there is none.
func (q *Queue[T]) startReportLocked(now time.Time) {
	if q.alarm.reportAt.IsZero() && q.shutDowns == 0 {
		q.alarm.reportAt = now.Add(ReportPeriod)
		q.setAlarmLocked()
	}
}

func (q *Queue[T]) reportAdded(n int) {
	if q.metrics == nil {
		return
	}
	for range n {
		q.metrics.Added()
	}
}
