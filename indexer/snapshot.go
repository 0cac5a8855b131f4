package indexer

import (
	"iter"
	"runtime"
	"sync"
)

// Snapshot is a store at one moment; the zero value is empty. It may be copied, kept, and used by many goroutines.
// There is nothing to close: a writer copies a shared chunk once, whether the snapshot is still used or not. It has no
// map of the store's, so the first Get or ByIndex takes time for each object.
type Snapshot[K comparable, T any] struct {
	m *moment[K, T] // nil in the zero value
}

// moment is what a store held between two writes. All snapshots of that time share it.
type moment[K comparable, T any] struct {
	keys  table[K]
	objs  table[T]
	filed map[string]table[[]*set] // by the name of the index; of the sets, only the values may be read
	rv    string

	once         sync.Once // makes the maps, for the first reader that needs them
	slots        map[K]uint32
	slotsByValue map[string]map[string][]uint32 // by the name of the index
}

// Snapshot returns the store as it is now. The first call after a write, even one that changed nothing, takes time for
// each chunk of the store.
func (s *Store[K, T]) Snapshot() Snapshot[K, T] {
	latest := s.latest.Load()
	if latest == nil {
		latest = s.takeMoment()
		// A writer that waited for mu runs now. Without this it waits until the time slices of all readers before it
		// end: beside ten goroutines that list in a loop, a write takes fifty times as long.
		runtime.Gosched()
	}
	return Snapshot[K, T]{latest}
}

func (s *Store[K, T]) takeMoment() *moment[K, T] {
	s.mu.Lock() // not RLock: freeze marks the chunks
	defer s.mu.Unlock()
	latest := s.latest.Load()
	if latest != nil {
		return latest // another reader took it meanwhile
	}
	c := &s.content
	latest = &moment[K, T]{keys: c.keys.freeze(), objs: c.objs.freeze(), rv: c.rv}
	latest.filed = make(map[string]table[[]*set], len(c.indices))
	for _, ix := range c.indices {
		latest.filed[ix.name] = ix.filed.freeze()
	}
	s.latest.Store(latest)
	return latest
}

func (s Snapshot[K, T]) moment() *moment[K, T] {
	if s.m == nil {
		return new(moment[K, T])
	}
	return s.m
}

// withMaps returns the moment after its maps have been made.
func (s Snapshot[K, T]) withMaps() *moment[K, T] {
	m := s.moment()
	m.once.Do(m.makeMaps)
	return m
}

func (m *moment[K, T]) makeMaps() {
	m.slots = make(map[K]uint32, m.keys.len)
	for slot := range uint32(m.keys.len) {
		m.slots[m.keys.at(slot)] = slot
	}
	m.slotsByValue = make(map[string]map[string][]uint32, len(m.filed))
	for name, filed := range m.filed {
		slots := map[string][]uint32{}
		for slot := range uint32(filed.len) {
			for _, set := range filed.at(slot) {
				slots[set.value] = append(slots[set.value], slot)
			}
		}
		m.slotsByValue[name] = slots
	}
}

// Len returns the number of objects.
func (s Snapshot[K, T]) Len() int { return s.moment().keys.len }

// ResourceVersion returns the store's resourceVersion at the moment of the snapshot.
func (s Snapshot[K, T]) ResourceVersion() string { return s.moment().rv }

// Get returns the object under key.
func (s Snapshot[K, T]) Get(key K) (obj T, ok bool) {
	m := s.withMaps()
	slot, ok := m.slots[key]
	if ok {
		obj = m.objs.at(slot)
	}
	return obj, ok
}

// All iterates over all objects, in no particular order.
func (s Snapshot[K, T]) All() iter.Seq2[K, T] {
	return func(yield func(K, T) bool) {
		m := s.moment()
		for slot := range uint32(m.keys.len) {
			if !yield(m.keys.at(slot), m.objs.at(slot)) {
				return
			}
		}
	}
}

// ByIndex iterates over the objects that have value in the named index, in no particular order. It is an error if
// there is no such index.
func (s Snapshot[K, T]) ByIndex(name, value string) (iter.Seq2[K, T], error) {
	m := s.withMaps()
	slotsByValue, ok := m.slotsByValue[name]
	if !ok {
		return nil, unknownIndex(name)
	}
	return func(yield func(K, T) bool) {
		for _, slot := range slotsByValue[value] {
			if !yield(m.keys.at(slot), m.objs.at(slot)) {
				return
			}
		}
	}, nil
}
