package controllertest

import (
	"testing/synctest"
	"time"
)

// settle waits until nobody has written anything new for quiet, and all faults are over. A program that may write for ever has settled after
// five minutes.
func (w *world) settle(quiet time.Duration) {
	patience := 10 * time.Hour
	if !w.scenario.asks(Settles) {
		patience = 5 * time.Minute
	}
	for began := time.Now(); ; {
		before := w.changes()
		time.Sleep(quiet)
		synctest.Wait()
		tired := time.Since(began) > patience
		if tired && w.scenario.asks(Settles) {
			w.found(Settles, "somebody still writes after %v (if it does so on a timer: Without StaysQuiet). The last writes are\n%s",
				patience, w.lastWrites(10))
			return
		}
		if tired || w.changes() == before {
			released := w.releaseLong() // then what comes of it is waited for
			if !released && w.isCalm() {
				return
			}
		}
	}
}

// settleAtLast waits longer than the back-off of most queues. If the program writes on a timer, nobody can wait for that long a silence.
func (w *world) settleAtLast() {
	const backoff = 20 * time.Minute
	if w.scenario.asks(StaysQuiet) {
		w.settle(backoff)
		return
	}
	time.Sleep(backoff)
	w.settle(w.scenario.Quiet)
}

// counted is how many writes the program has tried, and how often it has ended by itself.
func (w *world) counted() (tried, exits int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.attempts, w.exits
}

// changes is how many requests have changed something.
func (w *world) changes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.effective
}

func (w *world) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !time.Now().Before(w.calm)
}

// calmAfterLocked says that it is not calm for so long.
func (w *world) calmAfterLocked(d time.Duration) {
	over := time.Now().Add(d)
	if over.After(w.calm) {
		w.calm = over
	}
}
