package indexer

import (
	"errors"
	"fmt"
)

// Replace makes objs the whole content of the store and resourceVersion its version, in one moment for every reader. Of
// objects with the same key the last counts. Objects without a key are left out; the error joins one error for each of
// them and does not keep the others from being stored. The slice stays the caller's.
//
// The content is built with no lock held: readers and writers go on meanwhile, and writes that are done before
// Replace returns may be replaced.
func (s *Store[K, T]) Replace(objs []T, resourceVersion string) error {
	var errs []error
	keys, kept := make([]K, 0, len(objs)), make([]T, 0, len(objs))
	for i, obj := range objs {
		key, err := s.keyFunc(obj)
		if err != nil {
			errs = append(errs, fmt.Errorf("object %d of %d has no key: %w", i, len(objs), err))
			continue
		}
		keys, kept = append(keys, key), append(kept, obj)
	}
	s.ReplaceKeyed(keys, kept, resourceVersion)
	return errors.Join(errs...)
}

// ReplaceKeyed is Replace for objects whose keys are known: objs[i] is stored under keys[i], and KeyFunc is not asked.
// There must be as many keys as objects. The slices stay the caller's.
func (s *Store[K, T]) ReplaceKeyed(keys []K, objs []T, resourceVersion string) {
	sc := s.getScratch()
	s.replaceKeyed(keys, objs, resourceVersion, sc)
	s.putScratch(sc)
}

// replaceKeyed is ReplaceKeyed without the report of failures: see transact.
func (s *Store[K, T]) replaceKeyed(keys []K, objs []T, resourceVersion string, sc *scratch[K]) {
	s.writers.Add(1)
	defer s.writers.Add(-1)
	lock(&s.mu)
	now := s.clock.now
	s.mu.Unlock()

	b := s.buildContent(keys, objs, now)
	s.lockWithValues(sc, func(defs []*definition[T]) { s.buildIndices(b, sc, defs) })
	s.beginLocked()
	s.moveLocked()
	s.lockAllStripesLocked()
	s.keys.sp.Store(b.keys.sp.Load())
	s.objs.sp.Store(b.objs.sp.Load())
	s.table.dir.Store(b.table.dir.Load())
	s.n = b.n
	for i, ix := range b.indices {
		ix.ready = s.indices[i].ready
	}
	s.indices = b.indices
	s.rv = resourceVersion
	s.commitLocked()
}

// build is the content of a store to be.
type build[K comparable, T any] struct {
	clock   clock
	keys    vec[K]
	objs    vec[T]
	table   table
	n       uint32
	indices []*index[T]
}

// buildContent makes all but the indices. now is the epoch of a moment before; should a snapshot be taken meanwhile, then
// the first write to each chunk copies it in vain.
func (s *Store[K, T]) buildContent(keys []K, objs []T, now uint64) *build[K, T] {
	b := &build[K, T]{clock: clock{now: now}}
	tags := make([]uint32, len(keys))
	for i, key := range keys {
		tags[i] = s.tagOf(key)
	}
	b.keys.initSized(len(keys), now)
	b.objs.initSized(len(keys), now)
	b.table.minDepth = stripeBits
	b.table.initFor(tags, now)
	for i, key := range keys {
		slot, ok := find(b.table.dir.Load(), b.keys.sp.Load(), key, tags[i])
		if !ok {
			slot = b.n
			b.n++
			*b.keys.at(slot) = key
			b.table.insert(tags[i], slot, &b.clock)
		}
		*b.objs.at(slot) = objs[i]
	}
	b.keys.trim(b.n) // there were fewer objects than expected if keys recur
	b.objs.trim(b.n)
	return b
}

// buildIndices makes all indices, given the content.
func (s *Store[K, T]) buildIndices(b *build[K, T], sc *scratch[K], defs []*definition[T]) {
	w := &b.clock
	b.indices = make([]*index[T], len(defs))
	for i, d := range defs {
		b.indices[i] = newIndex(d, s.seed, w.now)
		b.indices[i].filed = make([]filing, b.n)
		b.indices[i].slab = []posting{} // not nil: make them by the slab
	}
	for slot := range b.n {
		clear(sc.values)
		sc.values, sc.ends = sc.values[:0], sc.ends[:0]
		compute(sc, defs, *b.keys.at(slot), *b.objs.at(slot), false)
		for i, ix := range b.indices {
			ix.reserve(slot, sc.valuesOf(0, i, len(defs)), w)
		}
	}
	for _, ix := range b.indices {
		ix.fill(b.n, w)
	}
}

// reserve gives slot its filings and makes the postings count it, but not hold it yet.
func (ix *index[T]) reserve(slot uint32, values []string, w *clock) {
	one := func(value string) filing {
		id := ix.idOf(value, w)
		p := *ix.posts.at(id)
		p.n++
		return filing{value: id + 1, pos: p.n - 1}
	}
	switch len(values) {
	case 0:
	case 1:
		ix.filed[slot] = one(values[0])
	default:
		list := make([]filing, len(values))
		for i, v := range values {
			list[i] = one(v)
		}
		ix.setMany(slot, list)
	}
}

// fill makes the postings, whose sizes are known by now, and puts all slots in.
func (ix *index[T]) fill(n uint32, w *clock) {
	ix.slab = nil
	var heap []uint32
	for id := range ix.ids {
		p := *ix.posts.at(id)
		size := min(int(p.n), chunkLen)
		if len(heap) < size {
			heap = make([]uint32, 4*chunkLen)
		}
		p.head, heap = heap[:size:size], heap[size:]
		for i := chunkLen; i < int(p.n); i += chunkLen {
			p.tail = append(p.tail, &postingChunk{epoch: w.now})
		}
	}
	for slot := range n {
		switch f := ix.filed[slot]; f.value {
		case nothing:
		case many:
			for _, f := range ix.many[slot] {
				(*ix.posts.at(f.value - 1)).set(f.pos, slot, w)
			}
		default:
			(*ix.posts.at(f.value - 1)).set(f.pos, slot, w)
		}
	}
}

// newPosting takes postings from a slab while many are made.
func (ix *index[T]) newPosting() *posting {
	if ix.slab == nil {
		return new(posting)
	}
	if len(ix.slab) == 0 {
		ix.slab = make([]posting, slabLen)
	}
	p := &ix.slab[0]
	ix.slab = ix.slab[1:]
	return p
}

const slabLen = 32
