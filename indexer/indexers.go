package indexer

import (
	"fmt"
	"slices"
	"strings"
)

func definitionsOf[T any](indexers Indexers[T]) []definition[T] {
	defs := make([]definition[T], 0, len(indexers))
	for name, fn := range indexers {
		defs = append(defs, definition[T]{name, fn})
	}
	slices.SortFunc(defs, func(a, b definition[T]) int { return strings.Compare(a.name, b.name) })
	return defs
}

// GetIndexers returns the indices that can be asked now. The map is the caller's.
func (s *Store[K, T]) GetIndexers() Indexers[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	indexers := make(Indexers[T], len(s.indices))
	for _, ix := range s.indices {
		if ix.ready {
			indexers[ix.def.name] = ix.def.fn
		}
	}
	return indexers
}

// AddIndexers adds indices and files what the store holds. Readers and writers go on meanwhile, and see the indices,
// complete, once it returns. If one of the names is taken, or being added by another goroutine, it is an error and
// nothing changes. An object on which a function fails is reported to OnError and missing from that index.
//
// From step 2 on, writers file what they write. What they have not written since is in the snapshot of step 2:
//
//  1. see that the names are free
//  2. make the indices, with every object pending, and take a snapshot
//  3. chunk by chunk: ask the functions with no lock held, then file the objects that are still pending
//  4. let readers see the indices
func (s *Store[K, T]) AddIndexers(add Indexers[T]) error {
	if len(add) == 0 {
		return nil
	}
	defs := definitionsOf(add)
	m, err := s.announce(defs)
	if err != nil {
		return err
	}
	for i := range m.keys.chunks {
		s.fileChunk(m.keys.chunks[i].entries, m.objs.chunks[i].entries, defs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginWriteLocked()
	for _, def := range defs {
		s.index(def.name).ready = true
	}
	return nil
}

// announce makes the indices, for writers only, and returns the objects that are pending in them.
func (s *Store[K, T]) announce(defs []definition[T]) (*moment[K, T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, def := range defs {
		if s.index(def.name) != nil {
			return nil, fmt.Errorf("indexer: there is an index %q already", def.name)
		}
	}
	all := slices.Concat(*s.defs.Load(), defs)
	s.defs.Store(&all)
	for _, def := range defs {
		ix := newIndex(def, s.epoch.Load())
		for range s.keys.len() {
			ix.filed.push(filing{posting: pending}, 0)
		}
		s.indices = append(s.indices, ix)
	}
	return s.freezeRLocked(), nil
}

// fileChunk files those objects that are still pending.
func (s *Store[K, T]) fileChunk(keys []K, objs []T, defs []definition[T]) {
	sc := s.scratch.Get().(*scratch[K])
	for i, key := range keys {
		compute(sc, defs, key, objs[i])
	}
	s.mu.Lock()
	epoch := s.beginWriteLocked()
	isPending := func(key K, index string) bool {
		slot, ok := s.slots[key]
		return ok && s.index(index).filed.at(slot).posting == pending
	}
	// A writer has reported what failed on the objects that are not pending any more.
	sc.failed = slices.DeleteFunc(sc.failed, func(f failure[K]) bool { return !isPending(f.key, f.index) })
	for i, key := range keys {
		for j, def := range defs {
			if isPending(key, def.name) {
				s.index(def.name).file(s.slots[key], sc.valuesOf(i, j, len(defs)), epoch)
			}
		}
	}
	s.mu.Unlock()
	s.finish(sc)
}

// RemoveIndexers removes indices and frees their memory; snapshots keep theirs. If one of the names is unknown, or
// still being added, it is an error and nothing changes.
func (s *Store[K, T]) RemoveIndexers(names ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if ix := s.index(name); ix == nil || !ix.ready {
			return noIndex(name)
		}
	}
	s.beginWriteLocked()
	s.indices = slices.DeleteFunc(slices.Clone(s.indices), func(ix *index[T]) bool {
		return slices.Contains(names, ix.def.name)
	})
	left := slices.DeleteFunc(slices.Clone(*s.defs.Load()), func(def definition[T]) bool {
		return slices.Contains(names, def.name)
	})
	s.defs.Store(&left)
	return nil
}
