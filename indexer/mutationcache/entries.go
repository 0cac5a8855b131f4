package mutationcache

import "time"

// entries is a map whose entries grow old: a TTL after it was set, an entry is gone, and beyond max entries the oldest
// goes. As the TTL is the same for all, the order of setting is the order of expiry: what is due stands at the front of
// a ring.
type entries[K comparable, V any] struct {
	ttl   time.Duration // an entry is due once it is older; not positive: never
	max   int           // not positive: no limit
	byKey map[K]*entry[K, V]
	// Invariant: the ring holds the entries of the map and no others.
	ring entry[K, V] // the sentinel; ring.next is the oldest
}

// entry is a key with its value. Entries are not changed while they are in the map.
type entry[K comparable, V any] struct {
	key   K
	value V

	prev, next *entry[K, V]
	set        time.Time
}

func newEntries[K comparable, V any](ttl time.Duration, max int) *entries[K, V] {
	m := &entries[K, V]{ttl: ttl, max: max, byKey: map[K]*entry[K, V]{}}
	m.ring.prev, m.ring.next = &m.ring, &m.ring
	return m
}

// expire drops what is due. Each entry is dropped once, so that calling it with each operation costs little.
func (m *entries[K, V]) expire() {
	for e := m.ring.next; m.ttl > 0 && e != &m.ring && time.Since(e.set) > m.ttl; e = m.ring.next {
		m.drop(e)
	}
}

// set puts value under key, as the youngest entry.
func (m *entries[K, V]) set(key K, value V) {
	m.remove(key)
	for m.max > 0 && len(m.byKey) >= m.max {
		m.drop(m.ring.next)
	}
	e := &entry[K, V]{key: key, value: value, prev: m.ring.prev, next: &m.ring, set: time.Now()}
	e.prev.next, e.next.prev = e, e
	m.byKey[key] = e
}

// remove drops what is under key, if anything.
func (m *entries[K, V]) remove(key K) {
	if e := m.byKey[key]; e != nil {
		m.drop(e)
	}
}

func (m *entries[K, V]) drop(e *entry[K, V]) {
	e.prev.next, e.next.prev = e.next, e.prev
	delete(m.byKey, e.key)
}
