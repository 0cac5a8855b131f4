package indexer

import (
	"fmt"
	"slices"
)

// setIndicesLocked puts indices in place.
func (s *Store[K, T]) setIndicesLocked(indices []*index[T]) {
	defs := make([]*definition[T], len(indices))
	for i, ix := range indices {
		defs[i] = ix.def
	}
	s.indices = indices
	s.defs.Store(&defs)
}

// GetIndexers returns the indices that can be asked now. The map is the caller's.
func (s *Store[K, T]) GetIndexers() Indexers[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	indexers := make(Indexers[T], len(s.indices))
	for _, ix := range s.indices {
		if ix.def.ready {
			indexers[ix.def.name] = ix.def.fn
		}
	}
	return indexers
}

// AddIndexers adds indices and indexes what the store holds. If a name is taken, or being added, it is an error and
// nothing changes. Readers and writers go on meanwhile. At last readers see the complete indices, and OnError is told
// of the objects that AddIndexers could not index. An object is pending in an index until the first of these events:
//
//	          ┌─ a writer stores it ────────▶ indexed by that writer
//	pending ──┼─ a writer deletes it ───────▶ gone from the index
//	          ├─ Replace swaps the content ─▶ indexed by Replace, in an index that takes this one's place, or gone
//	          └─ a loop over a snapshot ────▶ indexed by AddIndexers, which passes over what is not pending
func (s *Store[K, T]) AddIndexers(add Indexers[T]) error {
	var defs []*definition[T]
	var failed []failure[K]
	s.mu.Lock()
	indices := slices.Clone(s.indices)
	for name, fn := range add {
		if s.index(name) != nil {
			s.mu.Unlock()
			return fmt.Errorf("indexer: there is an index %q already", name)
		}
		def := &definition[T]{name: name, fn: fn}
		defs, indices = append(defs, def), append(indices, newIndex(def, s.keys.len, s.epoch.Load()))
	}
	s.setIndicesLocked(indices)
	s.mu.Unlock()

	for key, obj := range s.All() {
		s.write(func(sc *scratch[K, T]) {
			sc.defs = defs
			sc.compute(key, obj)
		}, func(sc *scratch[K, T]) {
			slot, ok := s.slots[key]
			for i, def := range defs {
				ix := s.index(def.name) // looked up each time: a Replace may have put another in its place
				if ok && ix.postings[slot] == (posting{}) {
					ix.addPostings(slot, sc.values[i], s.epoch.Load())
				} else {
					sc.failed = nil // the object is gone, or a writer indexed it and reported what failed
				}
			}
			failed, sc.failed = append(failed, sc.failed...), nil // reported last, because OnError may panic
		})
	}

	s.write(func(sc *scratch[K, T]) { sc.failed = failed }, func(*scratch[K, T]) {
		s.present.Store(nil)
		for _, def := range defs {
			def.ready = true
		}
	})
	return nil
}

// RemoveIndexers removes indices; snapshots keep theirs. A name unknown or being added is an error: nothing changes.
func (s *Store[K, T]) RemoveIndexers(names ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if ix := s.index(name); ix == nil || !ix.def.ready {
			return noIndex(name)
		}
	}
	s.present.Store(nil)
	s.setIndicesLocked(slices.DeleteFunc(slices.Clone(s.indices), func(ix *index[T]) bool {
		return slices.Contains(names, ix.def.name)
	}))
	return nil
}
