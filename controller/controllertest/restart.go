package controllertest

import "time"

// How long a kubelet waits before it starts a program again.
const (
	firstRestart   = time.Second // at once, and some time to get there
	secondRestart  = 10 * time.Second
	longestRestart = 5 * time.Minute
	forgetRestarts = 10 * time.Minute // of running
)

// restarts is the back-off of a kubelet: from the second restart on it waits, twice as long each time. A program that has run for ten
// minutes begins anew.
type restarts struct{ last time.Duration }

// next returns how long to wait after the program ran for so long.
func (r *restarts) next(ran time.Duration) time.Duration {
	switch {
	case r.last == 0 || ran >= forgetRestarts:
		r.last = firstRestart
	case r.last == firstRestart:
		r.last = secondRestart
	default:
		r.last = min(2*r.last, longestRestart)
	}
	return r.last
}

// awaitRestart keeps Settle from coming to an end before the program has been started again and had time to write. A program that waits
// for the longest time has ended many times, and is not waited for.
func (w *world) awaitRestart(delay time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delay < longestRestart {
		w.calmAfterLocked(delay + w.scenario.Quiet)
	}
}
