package indexer

import (
	"iter"
	"maps"
	"slices"
)

// GetByKey returns the object under key. It waits while a write changes the content, or a new snapshot is taken. One of
// these that waits also holds up new readers, so a long ByIndex and a write behind it delay GetByKey.
func (s *Store[K, T]) GetByKey(key K) (obj T, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	slot, ok := s.content.slots.entries[key]
	if ok {
		obj = s.content.objs.at(slot)
	}
	return obj, ok
}

// Get returns the stored object that has obj's key. The error is KeyFunc's.
func (s *Store[K, T]) Get(obj T) (stored T, ok bool, err error) {
	key, err := s.opts.KeyFunc(obj)
	if err == nil {
		stored, ok = s.GetByKey(key)
	}
	return stored, ok, err
}

// Len returns the number of objects.
func (s *Store[K, T]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.content.keys.len
}

// ResourceVersion returns that of the last Replace, or of a later Apply or Bookmark that named one.
func (s *Store[K, T]) ResourceVersion() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.content.rv
}

// All iterates over the objects of the moment in which the loop begins, in no particular order. Writers go on.
func (s *Store[K, T]) All() iter.Seq2[K, T] {
	return func(yield func(K, T) bool) { s.Snapshot().All()(yield) }
}

// List returns all objects, in no particular order. The slice is the caller's, the objects are the store's.
func (s *Store[K, T]) List() []T { return s.Snapshot().moment().objs.list() }

// ListKeys returns all keys, in the order of Options.Compare. The slice is the caller's.
func (s *Store[K, T]) ListKeys() []K { return s.sorted(s.Snapshot().moment().keys.list()) }

func (s *Store[K, T]) sorted(keys []K) []K {
	if s.opts.Compare != nil {
		slices.SortFunc(keys, s.opts.Compare)
	}
	return keys
}

// ByIndex returns the objects that have value in the named index, in no particular order. It is an error if there is no
// such index. The slice is the caller's.
func (s *Store[K, T]) ByIndex(name, value string) ([]T, error) {
	return s.ByIndexValues(name, []string{value})
}

// ByIndexValues is ByIndex for the objects that have at least one of values, each object once.
func (s *Store[K, T]) ByIndexValues(name string, values []string) ([]T, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ix, err := s.content.index(name)
	if err != nil {
		return nil, err
	}
	return s.content.objs.pick(ix.slotsOf(values)), nil
}

// IndexKeys is ByIndex that returns the keys, in the order of Options.Compare.
func (s *Store[K, T]) IndexKeys(name, value string) ([]K, error) {
	keys, err := s.indexKeys(name, value)
	return s.sorted(keys), err // with the store unlocked
}

func (s *Store[K, T]) indexKeys(name, value string) ([]K, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ix, err := s.content.index(name)
	if err != nil {
		return nil, err
	}
	return s.content.keys.pick(ix.slotsWith(value)), nil
}

// Index returns the objects that share a value with obj in the named index, each once, or an error of the function,
// which is called with the store unlocked.
func (s *Store[K, T]) Index(name string, obj T) ([]T, error) {
	s.mu.RLock()
	ix, err := s.content.index(name)
	s.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	values, err := ix.valuesOf(obj, nil)
	if err != nil {
		return nil, err
	}
	return s.ByIndexValues(name, values)
}

// ListIndexValues returns the values that objects have in the named index, sorted; nil without that index.
func (s *Store[K, T]) ListIndexValues(name string) []string {
	values := s.indexValues(name)
	slices.Sort(values) // with the store unlocked
	return values
}

func (s *Store[K, T]) indexValues(name string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ix, err := s.content.index(name)
	if err != nil {
		return nil
	}
	sets := ix.sets.entries
	return slices.AppendSeq(make([]string, 0, len(sets)), maps.Keys(sets))
}

// GetIndexers returns the index functions by name. The map is the caller's.
func (s *Store[K, T]) GetIndexers() Indexers[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	indexers := Indexers[T]{}
	for _, ix := range s.content.indices {
		indexers[ix.name] = ix.fn
	}
	return indexers
}
