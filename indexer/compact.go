package indexer

import "maps"

// Slots need no compaction: the last object moves into each gap. What remains is sized by the past here and there, and
// is made anew once an eighth (or a quarter) of it is in use, which costs each deletion or update a constant share.

func (s *Store[K, T]) compactLocked() {
	if s.table.sparse(int(s.n)) {
		s.lockAllStripesLocked()
		s.table.rebuild(func(slot uint32) uint32 { return slot }, &s.clock)
	}
	for _, ix := range s.indices {
		ix.compact(&s.clock)
	}
}

// compact gives the values new ids if most ids are unused.
func (ix *index[T]) compact(w *clock) {
	live := ix.ids - uint32(len(ix.free))
	if ix.ids <= chunkLen/4 || live*4 >= ix.ids {
		return
	}
	ids := make([]uint32, ix.ids)
	var posts vec[*posting]
	posts.initSized(0, w.now)
	next := uint32(0)
	for id := range ix.ids {
		if p := *ix.posts.at(id); p != nil {
			// A copy, as one posting left of those that a Replace made together would keep the memory of all.
			posts.push(next, p.clone(w.now), w)
			ids[id] = next
			next++
		}
	}
	ix.posts.sp.Store(posts.sp.Load())
	ix.table.rebuild(func(id uint32) uint32 { return ids[id] }, w)
	ix.ids, ix.free = next, nil
	for slot := range ix.filed {
		if f := &ix.filed[slot]; f.value != nothing && f.value != many && f.value != pending {
			f.value = ids[f.value-1] + 1
		}
	}
	for _, list := range ix.many {
		for i := range list {
			list[i].value = ids[list[i].value-1] + 1
		}
	}
}

// shrinkMany makes the map anew, as maps never shrink.
func (ix *index[T]) shrinkMany() {
	if ix.peak > chunkLen && len(ix.many)*4 < ix.peak {
		small := make(map[uint32][]filing, len(ix.many))
		maps.Copy(small, ix.many)
		ix.many, ix.peak = small, len(small)
	}
}
