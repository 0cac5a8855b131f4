package indexer

import (
	"iter"
	"time"
)

// aging is a map whose entries grow old: a TTL after it was put, an entry is gone, and beyond max entries the oldest goes.
// As the TTL is the same for all, the order of puts is the order of expiry: what is due stands at the front of a ring.
// Its users lock it.
type aging[K comparable, V any] struct {
	ttl  time.Duration // an entry is due once it is older; not positive: never
	max  int           // not positive: no limit
	byK  map[K]*aged[K, V]
	ring aged[K, V] // the sentinel; ring.next is the oldest. Invariant: the ring holds byK's entries and no others
	peak int        // size of byK since it was last made
}

type aged[K comparable, V any] struct {
	prev, next *aged[K, V]
	key        K
	value      V
	put        time.Time
}

func newAging[K comparable, V any](ttl time.Duration, max int) *aging[K, V] {
	a := &aging[K, V]{ttl: ttl, max: max}
	a.clear()
	return a
}

func (a *aging[K, V]) clear() {
	a.byK, a.peak = map[K]*aged[K, V]{}, 0
	a.ring.prev, a.ring.next = &a.ring, &a.ring
}

// expire drops what is due. Each entry is dropped once, so that calling it with each operation costs nothing to speak of.
func (a *aging[K, V]) expire() {
	if a.ttl <= 0 || len(a.byK) == 0 {
		return
	}
	now := time.Now()
	for e := a.ring.next; e != &a.ring && now.Sub(e.put) > a.ttl; e = a.ring.next {
		a.drop(e)
	}
	a.shrink()
}

// set puts value under key, as the youngest entry, and returns the entry.
func (a *aging[K, V]) set(key K, value V) *aged[K, V] {
	if old, ok := a.byK[key]; ok {
		a.drop(old)
	}
	for a.max > 0 && len(a.byK) >= a.max {
		a.drop(a.ring.next)
	}
	e := &aged[K, V]{prev: a.ring.prev, next: &a.ring, key: key, value: value, put: time.Now()}
	e.prev.next, e.next.prev = e, e
	a.byK[key] = e
	a.peak = max(a.peak, len(a.byK))
	return e
}

func (a *aging[K, V]) remove(key K) {
	if e, ok := a.byK[key]; ok {
		a.drop(e)
		a.shrink()
	}
}

// removeEntry removes e, unless its key has a younger entry by now.
func (a *aging[K, V]) removeEntry(e *aged[K, V]) {
	if a.byK[e.key] == e {
		a.remove(e.key)
	}
}

func (a *aging[K, V]) drop(e *aged[K, V]) {
	e.prev.next, e.next.prev = e.next, e.prev
	delete(a.byK, e.key)
}

// shrink makes the map anew, as maps never shrink.
func (a *aging[K, V]) shrink() {
	if a.peak > chunkLen && len(a.byK)*4 < a.peak {
		small := make(map[K]*aged[K, V], len(a.byK))
		for e := range a.entries() {
			small[e.key] = e
		}
		a.byK, a.peak = small, len(small)
	}
}

// entries iterates from the oldest to the youngest.
func (a *aging[K, V]) entries() iter.Seq[*aged[K, V]] {
	return func(yield func(*aged[K, V]) bool) {
		for e := a.ring.next; e != &a.ring && yield(e); e = e.next {
		}
	}
}
