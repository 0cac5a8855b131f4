// Package aging has a map whose entries grow old. It is what a mutationcache is made of.
package aging

import (
	"iter"
	"maps"
	"time"
)

// Map is a map whose entries grow old: a TTL after it was set, an entry is gone, and beyond max entries the oldest
// goes. As the TTL is the same for all, the order of setting is the order of expiry: what is due stands at the front of
// a ring.
//
// The methods of Map are not safe to call concurrently.
type Map[K comparable, V any] struct {
	ttl     time.Duration // an entry is due once it is older; not positive: never
	max     int           // not positive: no limit
	entries map[K]*Entry[K, V]
	peak    int // size of entries since the map was made
	// Invariant: the ring holds the entries of the map and no others.
	ring Entry[K, V] // the sentinel; ring.next is the oldest
}

// Entry is a key with its value. Entries are not changed while they are in the map.
type Entry[K comparable, V any] struct {
	Key   K
	Value V

	prev, next *Entry[K, V]
	set        time.Time
}

// New returns an empty map. A ttl or max that is not positive is no limit.
func New[K comparable, V any](ttl time.Duration, max int) *Map[K, V] {
	m := &Map[K, V]{ttl: ttl, max: max, entries: map[K]*Entry[K, V]{}}
	m.ring.prev, m.ring.next = &m.ring, &m.ring
	return m
}

// Expire drops what is due. Each entry is dropped once, so that calling it with each operation costs little.
func (m *Map[K, V]) Expire() {
	for e := m.ring.next; m.ttl > 0 && e != &m.ring && time.Since(e.set) > m.ttl; e = m.ring.next {
		m.drop(e)
	}
	m.shrink()
}

// Len returns the number of entries.
func (m *Map[K, V]) Len() int { return len(m.entries) }

// Get returns the entry under key, nil if there is none.
func (m *Map[K, V]) Get(key K) *Entry[K, V] { return m.entries[key] }

// Set puts value under key, as the youngest entry.
func (m *Map[K, V]) Set(key K, value V) {
	m.Remove(key)
	for m.max > 0 && len(m.entries) >= m.max {
		m.drop(m.ring.next)
	}
	e := &Entry[K, V]{Key: key, Value: value, prev: m.ring.prev, next: &m.ring, set: time.Now()}
	e.prev.next, e.next.prev = e, e
	m.entries[key] = e
	m.peak = max(m.peak, len(m.entries))
}

// Remove drops what is under key, if anything.
func (m *Map[K, V]) Remove(key K) {
	if e := m.entries[key]; e != nil {
		m.drop(e)
		m.shrink()
	}
}

func (m *Map[K, V]) drop(e *Entry[K, V]) {
	e.prev.next, e.next.prev = e.next, e.prev
	delete(m.entries, e.Key)
}

// shrink makes the map anew once it is mostly empty: Go's maps keep the memory of their largest size.
func (m *Map[K, V]) shrink() {
	if m.peak > 256 && len(m.entries)*4 < m.peak {
		m.entries, m.peak = maps.Collect(maps.All(m.entries)), len(m.entries)
	}
}

// All iterates from the oldest entry to the youngest.
func (m *Map[K, V]) All() iter.Seq[*Entry[K, V]] {
	return func(yield func(*Entry[K, V]) bool) {
		for e := m.ring.next; e != &m.ring && yield(e); e = e.next {
		}
	}
}
