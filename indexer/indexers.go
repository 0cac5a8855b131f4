package indexer

import (
	"fmt"
	"slices"
	"strings"
)

func sortedDefinitions[T any](indexers Indexers[T]) []*definition[T] {
	defs := make([]*definition[T], 0, len(indexers))
	for name, fn := range indexers {
		defs = append(defs, &definition[T]{name, fn})
	}
	slices.SortFunc(defs, func(a, b *definition[T]) int { return strings.Compare(a.name, b.name) })
	return defs
}

// GetIndexers returns the indices that can be asked now. The map is the caller's.
func (s *Store[K, T]) GetIndexers() Indexers[T] {
	r := s.acquire(visitor)
	defer r.release()
	indexers := make(Indexers[T], len(r.indices))
	for _, v := range r.indices {
		indexers[v.def.name] = v.def.fn
	}
	return indexers
}

// AddIndexers adds indices and files what the store holds; readers and writers go on meanwhile, and see the indices,
// complete, once it returns. If one of the names is taken, or being added by somebody else, it is an error and nothing
// changes. An object on which a function fails is reported to OnError and missing from that index.
func (s *Store[K, T]) AddIndexers(add Indexers[T]) error {
	if len(add) == 0 {
		return nil
	}
	fresh := sortedDefinitions(add)
	r, err := s.announce(fresh)
	if err != nil {
		return err
	}
	defer r.release()
	// From here on writers file what they write. The rest is in r.
	for c := 0; c*chunkLen < r.n; c++ {
		s.fileChunk(r, c, fresh)
	}
	lock(&s.mu)
	s.beginLocked()
	for _, d := range fresh {
		s.indexOfLocked(d).ready = true
	}
	s.commitLocked()
	return nil
}

// announce lets writers know of the definitions and returns the objects that they have not filed.
func (s *Store[K, T]) announce(fresh []*definition[T]) (*root[K, T], error) {
	lock(&s.mu)
	defer s.mu.Unlock()
	defs := slices.Clone(*s.defs.Load())
	for _, d := range fresh {
		if slices.ContainsFunc(defs, func(old *definition[T]) bool { return old.name == d.name }) {
			return nil, fmt.Errorf("indexer: there is an index %q already", d.name)
		}
	}
	defs = append(defs, fresh...)
	for _, d := range fresh {
		ix := newIndex(d, s.seed, s.clock.now)
		ix.filed = slices.Repeat([]filing{{value: pending}}, int(s.n))
		s.indices = append(s.indices, ix)
	}
	s.defs.Store(&defs)
	r := s.published.Load()
	if r == nil {
		r = s.freezeLocked(newRoot[K, T](len(defs)))
	}
	r.pin.enter(visitor)
	return r, nil
}

// fileChunk files those objects of a chunk of r that no writer has touched since.
func (s *Store[K, T]) fileChunk(r *root[K, T], c int, fresh []*definition[T]) {
	sc := s.getScratch()
	keys, objs := &r.keys.chunk(c).e, &r.objs.chunk(c).e
	size := min(chunkLen, r.n-c*chunkLen)
	for i := range size {
		compute(sc, fresh, keys[i], objs[i], false)
	}
	failed := sc.failed
	sc.failed = nil

	lock(&s.mu)
	s.beginLocked()
	for j, d := range fresh {
		ix := s.indexOfLocked(d)
		for i := range size {
			slot, ok := find(s.table.dir.Load(), s.keys.sp.Load(), keys[i], s.tagOf(keys[i]))
			if !ok || ix.filed[slot].value != pending {
				continue
			}
			ix.file(slot, sc.valuesOf(i, j, len(fresh)), &s.clock)
			for _, f := range failed {
				if f.key == keys[i] && f.def == d.name {
					sc.failed = append(sc.failed, f)
				}
			}
		}
	}
	s.commitLocked()
	s.putScratch(sc)
}

func (s *Store[K, T]) indexOfLocked(d *definition[T]) *index[T] {
	return s.indices[slices.IndexFunc(s.indices, func(ix *index[T]) bool { return ix.def == d })]
}

// RemoveIndexers removes indices and frees their memory; snapshots keep theirs. If one of the names is unknown, or still
// being added, it is an error and nothing changes.
func (s *Store[K, T]) RemoveIndexers(names ...string) error {
	lock(&s.mu)
	defer s.mu.Unlock()
	gone := map[string]bool{}
	for _, name := range names {
		if !slices.ContainsFunc(s.indices, func(ix *index[T]) bool { return ix.ready && ix.def.name == name }) {
			return noIndex(name)
		}
		gone[name] = true
	}
	s.beginLocked()
	s.indices = slices.DeleteFunc(slices.Clone(s.indices), func(ix *index[T]) bool { return gone[ix.def.name] })
	defs := slices.DeleteFunc(slices.Clone(*s.defs.Load()), func(d *definition[T]) bool { return gone[d.name] })
	s.defs.Store(&defs)
	return nil
}
