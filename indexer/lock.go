package indexer

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	stripeBits  = 5
	stripeCount = 1 << stripeBits

	// A lock is tried so often before its goroutine goes to sleep, altogether for about 20 µs. All critical sections but those
	// of large transactions are far shorter, and a writer that is put to sleep among busy readers is only woken when one of
	// them has used up its time slice: milliseconds for a wait of nanoseconds. sync.Mutex itself does not wait awake while
	// other goroutines want the processor, which is just when it would matter. Between two tries lies an empty loop of so many
	// turns, about a third of a microsecond, which the compiler leaves in: who tries without pause keeps the lock's cache line from
	// its holder. On a single processor all this is in vain, and rare: the lock is taken there only if its holder was
	// preempted.
	spins = 64
	pause = 1000
)

// apart is what every core writes. It is allocated apart from the store: what has no pointers and is a multiple of 64 bytes, Go's
// allocator lays along cache lines of that length (a test looks).
type apart struct {
	// stripes guard the slots and table entries of the keys that hash to them, against GetByKey with a lock. Only a holder of mu
	// locks more than one, so their order does not matter. A writer keeps what it locked until it commits: who has
	// seen one write of a transaction therefore sees them all.
	stripes [stripeCount]stripe
	// lookups counts those with a lock since objects were last moved, roughly: see rest.
	lookups atomic.Int64
	_       [56]byte
	// readBeside counts the objects of reads that ended while a write was under way: see giveWay.
	readBeside atomic.Uint64
	// reading counts the reads of many objects that are under way, those that give way included.
	reading atomic.Int32
	_       [52]byte
}

// stripe is a lock on a cache line of its own.
type stripe struct {
	mu      sync.Mutex
	lookups uint8 // by GetByKey, modulo 256
	_       [55]byte
}

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

// lockStripeLocked keeps GetByKey away from the keys whose tag shares tag's stripe, until commitLocked.
func (s *Store[K, T]) lockStripeLocked(tag uint32) {
	i := tag >> (32 - stripeBits)
	if s.held&(1<<i) == 0 {
		lock(&s.stripes[i].mu)
		s.held |= 1 << i
	}
}

func (s *Store[K, T]) lockAllStripesLocked() {
	for i := range uint32(stripeCount) {
		s.lockStripeLocked(i << (32 - stripeBits))
	}
}

func (s *Store[K, T]) unlockStripesLocked() {
	for h := s.held; h != 0; h &= h - 1 {
		s.stripes[bits.TrailingZeros64(h)].mu.Unlock()
	}
	s.held = 0
}

// beginLocked opens a write: from here on no reader gets the old state as the present one.
func (s *Store[K, T]) beginLocked() {
	if s.published.Load() != nil {
		s.published.Store(nil)
	}
	if len(s.pins) > 0 {
		s.prunePinsLocked()
	}
}

// commitLocked ends a write: all of it becomes visible. The size goes first, so that who has seen the new Len waits at a
// stripe for the rest, and who has seen the rest sees the new Len.
func (s *Store[K, T]) commitLocked() {
	if n := int64(s.n); s.size.Load() != n {
		s.size.Store(n)
	}
	s.unlockStripesLocked()
	if s.disturbed {
		s.disturbed = false
		s.turn.Add(1)
	}
	s.mu.Unlock()
}
