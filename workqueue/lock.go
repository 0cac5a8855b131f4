package workqueue

import "sync"

// A lock is tried so often before its goroutine goes to sleep, altogether for some microseconds: what is done under the lock
// takes far less than to sleep and to be woken, and sync.Mutex itself does not wait awake while other goroutines want the
// processor, as where many workers share a queue. Between two tries lies an empty loop of so many turns, about a third
// of a microsecond, which the compiler leaves in. That is longer than the lock is held as a rule, and on purpose: meanwhile the
// holder's core takes it again and again, with all that it guards at hand, where cores that took turns would wait for every
// cache line.
const (
	spins = 8
	pause = 1000
)

// lock takes a queue's mutex. All methods use it; only who waits for a sync.Cond gets the mutex back by plain Lock.
func lock(mu *sync.Mutex) {
	if !mu.TryLock() {
		lockSlow(mu)
	}
}

func lockSlow(mu *sync.Mutex) {
	for range spins {
		for range pause {
		}
		if mu.TryLock() {
			return
		}
	}
	mu.Lock()
}
