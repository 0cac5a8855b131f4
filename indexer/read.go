package indexer

import (
	"iter"
	"maps"
	"runtime"
	"slices"
)

// GetByKey returns the object under key. It waits for a write in progress or waiting, but for no long reader.
func (s *Store[K, T]) GetByKey(key K) (obj T, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	slot, ok := s.slots[key]
	if ok {
		obj = *s.objs.at(slot)
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
	return s.keys.len
}

// ResourceVersion returns that of the last Replace, or of a later Apply or Bookmark that named one.
func (s *Store[K, T]) ResourceVersion() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.rv
}

// All iterates over the objects of the moment in which the loop begins, in no particular order. Writers go on.
func (s *Store[K, T]) All() iter.Seq2[K, T] {
	return func(yield func(K, T) bool) { s.Snapshot().All()(yield) }
}

// List returns all objects, in no particular order. The slice is the caller's, the objects are the store's.
func (s *Store[K, T]) List() []T {
	m := s.present.Load()
	if m == nil {
		m = s.Snapshot().m
		// 10 µs, where it was 400, is what a write beside ten listing readers takes. A waiting writer runs now.
		// Otherwise it would wait until this reader's time slice ends.
		runtime.Gosched()
	}
	return m.objs.list()
}

// ListKeys returns all keys, in the order of Options.Compare. The slice is the caller's.
func (s *Store[K, T]) ListKeys() []K {
	return s.sorted(s.Snapshot().m.keys.list())
}

func (s *Store[K, T]) sorted(keys []K) []K {
	if s.opts.Compare != nil {
		slices.SortFunc(keys, s.opts.Compare)
	}
	return keys
}

// ByIndex returns the objects that have value in the named index, in no particular order. It is an error if there is no
// such index. The slice is the caller's.
func (s *Store[K, T]) ByIndex(name, value string) ([]T, error) {
	return lookup(s, name, []string{value}, &s.objs)
}

// ByIndexValues is ByIndex for the objects that have at least one of values, each object once.
func (s *Store[K, T]) ByIndexValues(name string, values []string) ([]T, error) {
	return lookup(s, name, values, &s.objs)
}

// IndexKeys is ByIndex that returns the keys, in the order of Options.Compare.
func (s *Store[K, T]) IndexKeys(name, value string) ([]K, error) {
	keys, err := lookup(s, name, []string{value}, &s.keys)
	return s.sorted(keys), err
}

// lookup returns the entries of one of the store's columns for the objects that have one of values, each once. Up to
// 256 are copied under the read lock. For more, the lock is held only while the moment is frozen.
func lookup[K comparable, T, E any](s *Store[K, T], name string, values []string, from *column[E]) ([]E, error) {
	s.mu.RLock()
	ix := s.index(name)
	if ix == nil || !ix.def.ready {
		s.mu.RUnlock()
		return nil, noIndex(name)
	}
	matches, n, entries := make([]column[uint32], 0, 4), 0, *from
	for _, value := range values {
		slots := ix.lists.at(ix.numbers[value]).slots // list 0 is empty
		matches, n = append(matches, slots), n+slots.len
	}
	if n <= chunkLen {
		defer s.mu.RUnlock()
	} else {
		s.freezeRLocked(new(moment[K, T]))
		s.mu.RUnlock()
	}
	found := make([]E, 0, n)
	seen := map[uint32]bool{} // the slots of what was found, where there are several values
	for _, slots := range matches {
		for i := range uint32(slots.len) {
			slot := *slots.at(i)
			if len(matches) > 1 {
				if seen[slot] {
					continue
				}
				seen[slot] = true
			}
			found = append(found, *entries.at(slot))
		}
	}
	return found, nil
}

// Index returns the objects that share a value with obj in the named index, each once, or an error of the function.
func (s *Store[K, T]) Index(name string, obj T) ([]T, error) {
	for _, def := range *s.defs.Load() {
		if def.name == name {
			values, err := def.valuesOf(obj, nil)
			if err != nil {
				return nil, err
			}
			return s.ByIndexValues(name, values)
		}
	}
	return nil, noIndex(name)
}

// ListIndexValues returns the values that objects have in the named index, sorted; nil without that index.
func (s *Store[K, T]) ListIndexValues(name string) (values []string) {
	if ix := s.Snapshot().m.index(name); ix != nil {
		values = slices.AppendSeq([]string{}, maps.Keys(ix.numbers))
	}
	slices.Sort(values)
	return values
}
