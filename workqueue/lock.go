package workqueue

import "sync"

// spins is how often the lock is tried before its goroutine goes to sleep. What is done under the lock takes far less than
// to sleep and to be woken, and sync.Mutex itself does not wait awake while other goroutines want the processor, as where
// many workers share a queue. There is no pause between two tries: to try a lock that is held only reads it.
const spins = 256

// lock takes a queue's mutex. All methods use it; only who waits for a sync.Cond gets the mutex back by plain Lock.
func lock(mu *sync.Mutex) {
	if !mu.TryLock() {
		lockSlow(mu)
	}
}

func lockSlow(mu *sync.Mutex) {
	for range spins {
		if mu.TryLock() {
			return
		}
	}
	mu.Lock()
}
