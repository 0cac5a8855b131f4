package workqueue

import "sync"

// spins is how often the lock is tried, with a pause of some nanoseconds, before its goroutine goes to sleep. What is done
// under the lock takes far less than to sleep and to be woken, and sync.Mutex itself does not wait awake while other
// goroutines want the processor, as where many workers share a queue.
const spins = 50

func lock(mu *sync.Mutex) {
	if !mu.TryLock() {
		lockSlow(mu)
	}
}

func lockSlow(mu *sync.Mutex) {
	for range spins {
		for range 20 { // to try without pause would keep the lock's cache line from its holder
		}
		if mu.TryLock() {
			return
		}
	}
	mu.Lock()
}
