package indexer

import (
	"fmt"
	"iter"
	"sync"
)

// Snapshot is a store at one moment; the zero value is empty. It may be copied, kept, and used by many goroutines. It
// keeps the chunks that the store has copied or dropped since. There is nothing to close: a writer copies a shared
// chunk once, whether the snapshot is still used or not. It shares no map with the store. So the first Get builds a map
// of all keys, and each index's first ByIndex a map of its values.
type Snapshot[K comparable, T any] struct {
	m *moment[K, T] // nil in the zero value
}

func (s Snapshot[K, T]) moment() *moment[K, T] {
	if s.m == nil {
		return new(moment[K, T])
	}
	return s.m
}

// moment is what a store held when a snapshot was taken. It shares the chunks, which writers copy and do not change.
type moment[K comparable, T any] struct {
	keys    column[K]
	objs    column[T]
	rv      string
	indices []frozenIndex[T] // those that were complete at the moment

	once  sync.Once // makes slots
	slots map[K]uint32
}

// frozenIndex is an index at the moment.
type frozenIndex[T any] struct {
	def     *definition[T]
	lists   column[postingList]
	once    sync.Once // makes numbers
	numbers map[string]uint32
}

// freezeRLocked returns the present moment. mu must be locked, for reading at least. If nobody has made it yet, it is
// made in m. Snapshot allocates m before it locks, because allocating may wait for the garbage collector. lookup
// cannot: it learns under the lock that it needs m.
func (s *Store[K, T]) freezeRLocked(m *moment[K, T]) *moment[K, T] {
	if present := s.present.Load(); present != nil {
		return present
	}
	m.keys, m.objs, m.rv = s.keys, s.objs, s.rv
	for _, ix := range s.indices {
		if ix.def.ready {
			m.indices = append(m.indices, frozenIndex[T]{def: ix.def, lists: ix.lists})
		}
	}
	s.epoch.Add(1)
	s.present.Store(m)
	return m
}

// Snapshot returns the store as it is now, in constant time. It locks only if nobody has taken a snapshot since the
// last write.
func (s *Store[K, T]) Snapshot() Snapshot[K, T] {
	if m := s.present.Load(); m != nil {
		return Snapshot[K, T]{m}
	}
	m := &moment[K, T]{indices: make([]frozenIndex[T], 0, len(*s.defs.Load()))}
	s.mu.RLock()
	m = s.freezeRLocked(m)
	s.mu.RUnlock()
	return Snapshot[K, T]{m}
}

// Len returns the number of objects.
func (s Snapshot[K, T]) Len() int { return s.moment().keys.len }

// ResourceVersion returns the store's resourceVersion at the moment of the snapshot.
func (s Snapshot[K, T]) ResourceVersion() string { return s.moment().rv }

// Get returns the object under key.
func (s Snapshot[K, T]) Get(key K) (obj T, ok bool) {
	m := s.moment()
	m.once.Do(func() {
		m.slots = make(map[K]uint32, m.keys.len)
		for slot := range uint32(m.keys.len) {
			m.slots[*m.keys.at(slot)] = slot
		}
	})
	slot, ok := m.slots[key]
	if ok {
		obj = *m.objs.at(slot)
	}
	return obj, ok
}

// All iterates over all objects, in no particular order.
func (s Snapshot[K, T]) All() iter.Seq2[K, T] {
	return func(yield func(K, T) bool) {
		m := s.moment()
		for slot := range uint32(m.keys.len) {
			if !yield(*m.keys.at(slot), *m.objs.at(slot)) {
				return
			}
		}
	}
}

// ByIndex iterates over the objects that have value in the named index, in no particular order. It is an error if
// there is no such index.
func (s Snapshot[K, T]) ByIndex(name, value string) (iter.Seq2[K, T], error) {
	m := s.moment()
	ix := m.index(name)
	if ix == nil {
		return nil, noIndex(name)
	}
	slots := &ix.lists.at(ix.numbers[value]).slots // list 0 is empty
	return func(yield func(K, T) bool) {
		for i := range uint32(slots.len) {
			if slot := *slots.at(i); !yield(*m.keys.at(slot), *m.objs.at(slot)) {
				return
			}
		}
	}, nil
}

// index returns the index of that name, ready to be asked; nil if there is none.
func (m *moment[K, T]) index(name string) *frozenIndex[T] {
	for i := range m.indices {
		if ix := &m.indices[i]; ix.def.name == name {
			ix.once.Do(func() {
				ix.numbers = map[string]uint32{}
				for number := range uint32(ix.lists.len) {
					if list := ix.lists.at(number); list.slots.len > 0 {
						ix.numbers[list.value] = number
					}
				}
			})
			return ix
		}
	}
	return nil
}

func noIndex(name string) error { return fmt.Errorf("indexer: there is no index %q", name) }
