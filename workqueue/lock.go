package workqueue

import "sync"

// A lock is tried so often before its goroutine goes to sleep, altogether for about a microsecond: what is done under the
// lock takes far less than to sleep and to be woken, and sync.Mutex itself does not wait awake while other goroutines want
// the processor, as where many workers share a queue. Between two tries lies an empty loop of so many turns, which the
// compiler leaves in: who reads the lock without pause keeps its cache line from the holder who is about to write it.
const (
	spins = 50
	pause = 20
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
