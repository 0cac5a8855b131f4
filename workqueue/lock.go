package workqueue

import "sync"

// A lock is tried so often before its goroutine goes to sleep, altogether for about 20 µs: what is done under the lock
// takes far less than to sleep and to be woken, and sync.Mutex itself does not wait awake while other goroutines want the
// processor, as where many workers share a queue. Before each try but the first lies an empty loop, which the compiler leaves
// in: of pause turns, about a third of a microsecond, and then of twice as many as before. That is longer than the lock is held
// as a rule (portions of the alarm's apart), and on purpose: meanwhile the holder's core takes it again and again, with all that
// it guards at hand, where cores that took turns would wait for every cache line. How long is long enough differs from machine
// to machine; hence the doubling.
const (
	spins = 6
	pause = 1000
)

// lock takes a queue's mutex. All methods use it; only who waits for a sync.Cond gets the mutex back by plain Lock.
func lock(mu *sync.Mutex) {
	if !mu.TryLock() {
		lockSlow(mu)
	}
}

func lockSlow(mu *sync.Mutex) {
	for i := range spins {
		for range pause << i {
		}
		if mu.TryLock() {
			return
		}
	}
	mu.Lock()
}
