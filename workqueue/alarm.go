package workqueue

import "time"

// alarm is the queue's only timer. It goes off for the next deadline, and with metrics for the next report.
type alarm struct {
	timer *time.Timer
	// reportAt is when unfinished work is reported next; zero if it is not.
	reportAt time.Time
	// callbacks counts those that will run or are running. ShutDown waits until there are none.
	callbacks int
}

// setAlarmLocked sets the alarm for the next deadline or report.
func (q *Queue[T]) setAlarmLocked() {
	a := &q.alarm
	next := a.reportAt
	if len(q.delayed) > 0 && (next.IsZero() || q.delayed[0].due.Before(next)) {
		next = q.delayed[0].due
	}
	if next.IsZero() {
		return
	}
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
	now := time.Now()
	q.moveDueLocked(now)
	if !q.alarm.reportAt.IsZero() && !q.alarm.reportAt.After(now) {
		q.alarm.reportAt = time.Time{}
		q.reportLocked()
		if q.working > 0 {
			q.startReportLocked(now)
		}
	}
	q.setAlarmLocked()
	q.unlock()

	q.mu.Lock()
	defer q.unlock()
	q.callbackGoneLocked()
}

// callbackGoneLocked is called wherever callbacks falls, so that nobody misses that it became 0.
func (q *Queue[T]) callbackGoneLocked() {
	q.alarm.callbacks--
	if q.alarm.callbacks == 0 {
		q.idle.Broadcast()
	}
}

// endAlarmLocked returns when no callback runs or will run. Callers know that nothing sets the alarm any more: the
// queue takes no more items, and reports have ended.
func (q *Queue[T]) endAlarmLocked() {
	q.alarm.reportAt = time.Time{}
	if q.alarm.timer != nil && q.alarm.timer.Stop() {
		q.callbackGoneLocked()
	}
	for q.alarm.callbacks > 0 {
		q.idle.Wait()
	}
}
