package indexer

import (
	"iter"
	"runtime"
	"sync"
)

// Snapshot is a store at one moment; the zero value is empty. It may be copied, kept, and used by many goroutines. There
// is nothing to close: a writer copies a shared chunk once, whether the snapshot is still used or not. It shares no map
// with the store, so the first Get or ByIndex takes time for each object.
type Snapshot[K comparable, T any] struct {
	m *moment[K, T] // nil in the zero value
}

// moment is what a store held when a snapshot was taken.
type moment[K comparable, T any] struct {
	frozen content[K, T] // has no maps
	once   sync.Once
	mapped content[K, T] // made by the first reader that needs maps
}

// Snapshot returns the store as it is now. If nobody has taken a snapshot since the last write, that takes time for each
// chunk of the store.
func (s *Store[K, T]) Snapshot() Snapshot[K, T] {
	latest := s.latest.Load()
	if latest == nil {
		latest = s.takeMoment()
		// A writer that waited for mu runs now. Without this it waits until the time slices of all readers before it end: beside
		// ten goroutines that list in a loop, a write takes fifty times as long.
		runtime.Gosched()
	}
	return Snapshot[K, T]{latest}
}

func (s *Store[K, T]) takeMoment() *moment[K, T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	latest := &moment[K, T]{frozen: s.content.freeze()}
	s.latest.Store(latest) // another reader may have stored an equal one meanwhile
	return latest
}

func (s Snapshot[K, T]) moment() *moment[K, T] {
	if s.m == nil {
		return new(moment[K, T])
	}
	return s.m
}

// withMaps returns the content of the moment with maps.
func (s Snapshot[K, T]) withMaps() *content[K, T] {
	m := s.moment()
	m.once.Do(func() { m.mapped = m.frozen.clone() })
	return &m.mapped
}

// Len returns the number of objects.
func (s Snapshot[K, T]) Len() int { return s.moment().frozen.keys.len }

// ResourceVersion returns the store's resourceVersion at the moment of the snapshot.
func (s Snapshot[K, T]) ResourceVersion() string { return s.moment().frozen.rv }

// Get returns the object under key.
func (s Snapshot[K, T]) Get(key K) (obj T, ok bool) { return s.withMaps().get(key) }

// All iterates over all objects, in no particular order.
func (s Snapshot[K, T]) All() iter.Seq2[K, T] {
	return func(yield func(K, T) bool) {
		c := &s.moment().frozen
		for slot := range uint32(c.keys.len) {
			if !yield(c.keys.at(slot), c.objs.at(slot)) {
				return
			}
		}
	}
}

// ByIndex iterates over the objects that have value in the named index, in no particular order. It is an error if
// there is no such index.
func (s Snapshot[K, T]) ByIndex(name, value string) (iter.Seq2[K, T], error) {
	c := s.withMaps()
	ix, err := c.index(name)
	if err != nil {
		return nil, err
	}
	return func(yield func(K, T) bool) {
		for slot := range ix.slotsOf([]string{value}) {
			if !yield(c.keys.at(slot), c.objs.at(slot)) {
				return
			}
		}
	}, nil
}
