package workqueue

import (
	"sync"
	"time"
)

// alarm calls a function at a time that can be moved. The queue has two of them: for the next deadline, and for the next
// report of unfinished work. The queue's lock guards it; calls is waited for without the lock.
type alarm struct {
	ring  func()      // is called in a goroutine of its own, without the lock
	timer *time.Timer // nil until it is first set
	// calls of ring, those that will run or are running. set adds one. It is done when ring returns, or when the alarm
	// is stopped before.
	calls sync.WaitGroup
}

// set replaces the time for which the alarm was set.
func (a *alarm) set(at time.Time) {
	a.stop()
	a.calls.Add(1)
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(at), a.callRing)
	} else {
		a.timer.Reset(time.Until(at))
	}
}

func (a *alarm) callRing() {
	defer a.calls.Done()
	a.ring()
}

// stop does not wait for a call that is running.
func (a *alarm) stop() {
	if a.timer == nil {
		return
	}
	stopped := a.timer.Stop()
	if stopped {
		a.calls.Done() // It will not run.
	}
}
