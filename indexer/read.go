package indexer

import (
	"iter"
	"slices"
)

// GetByKey returns the object under key. It waits for a write to keys that share key's stripe, but for no reader that
// iterates. Where objects have only been updated for some time, and not added or deleted, it takes no lock, unless a
// transaction of several operations is under way.
func (s *Store[K, T]) GetByKey(key K) (obj T, ok bool) {
	tag := s.tagOf(key)
	turn := s.turn.Load() // before the places: so places that are out of date do not go with a turn that is not
	if p := s.resting.Load(); p != nil && turn%2 == 0 {
		if obj, ok, sure := s.lookup(p, turn, key, tag); sure {
			return obj, ok
		}
	}
	st := &s.stripes[tag>>(32-stripeBits)]
	lock(&st.mu)
	slot, ok := find(s.table.dir.Load(), s.keys.sp.Load(), key, tag)
	if ok {
		obj = s.objs.get(slot)
	}
	st.lookups++
	counted := st.lookups%countEvery == 0
	st.mu.Unlock()
	if counted && s.lookups.Add(countEvery) >= restAfter {
		s.rest()
	}
	return obj, ok
}

// Get returns the stored object that has obj's key. The error is KeyFunc's.
func (s *Store[K, T]) Get(obj T) (stored T, ok bool, err error) {
	key, err := s.keyFunc(obj)
	if err != nil {
		return stored, false, err
	}
	stored, ok = s.GetByKey(key)
	return stored, ok, nil
}

// Len returns the number of objects.
func (s *Store[K, T]) Len() int { return int(s.size.Load()) }

// All iterates over the objects of the moment in which the loop begins, in no particular order. While the loop lasts,
// writers go on and copy the chunks they touch; afterwards they do not. A loop that is ended by a panic or by
// runtime.Goexit, or that outlasts 64 later snapshots, costs what a Snapshot does.
//
// The literal has no defer and calls no function that calls yield: so the compiler inlines it together with the loop's body,
// an object costs no call, and a key that the body does not want is not even read.
func (s *Store[K, T]) All() iter.Seq2[K, T] {
	return func(yield func(K, T) bool) {
		r := s.acquire(visitor)
		for c := range chunksOf(r.n) {
			keys, objs := r.chunk(c)
			for i, obj := range objs {
				if !yield(keys[i], obj) {
					r.release()
					return
				}
			}
		}
		r.release()
	}
}

// List returns all objects, in no particular order. The slice is the caller's, the objects are the store's.
func (s *Store[K, T]) List() []T {
	r := s.acquire(visitor)
	s.read(r.n)
	defer s.leave(r, r.n)
	return first(r.n, r.objs)
}

// ListKeys returns all keys, in the order of Options.Compare. The slice is the caller's.
func (s *Store[K, T]) ListKeys() []K {
	r := s.acquire(visitor)
	s.read(r.n)
	defer s.leave(r, r.n)
	return s.sorted(first(r.n, r.keys))
}

// first returns the first n entries of a column.
func first[E any](n int, column *spine[E]) []E {
	list := make([]E, 0, n)
	for c, left := 0, n; left > 0; c, left = c+1, left-chunkLen {
		list = append(list, column.chunk(c).e[:min(left, chunkLen)]...)
	}
	return list
}

func (s *Store[K, T]) sorted(keys []K) []K {
	if s.compare != nil {
		slices.SortFunc(keys, s.compare)
	}
	return keys
}

// ByIndex returns the objects filed under value in the named index, in no particular order. It is an error if there is no
// such index. The slice is the caller's.
func (s *Store[K, T]) ByIndex(name, value string) ([]T, error) {
	r, n := s.acquire(visitor), 0
	defer func() { s.leave(r, n) }()
	v := r.view(name)
	if v == nil {
		return nil, noIndex(name)
	}
	p := r.posting(v, value)
	n = p.len()
	s.read(n)
	return filedIn(p, r.objs), nil
}

// IndexKeys returns the keys of the objects filed under value in the named index, in the order of Options.Compare. It is
// an error if there is no such index. The slice is the caller's.
func (s *Store[K, T]) IndexKeys(name, value string) ([]K, error) {
	r, n := s.acquire(visitor), 0
	defer func() { s.leave(r, n) }()
	v := r.view(name)
	if v == nil {
		return nil, noIndex(name)
	}
	p := r.posting(v, value)
	n = p.len()
	s.read(n)
	return s.sorted(filedIn(p, r.keys)), nil
}

// filedIn returns a column's entries in the slots of p, which may be nil.
func filedIn[E any](p *posting, column *spine[E]) []E {
	list := make([]E, 0, p.len())
	if p == nil {
		return list
	}
	for c := range p.chunks() {
		for _, slot := range p.chunk(c) {
			list = append(list, *column.at(slot))
		}
	}
	return list
}

// Index returns the objects that are filed, in the named index, under a value that obj would be filed under; each of them
// once. It is an error if there is no such index or if its function fails on obj.
func (s *Store[K, T]) Index(name string, obj T) ([]T, error) {
	var sc scratch[K]
	r := s.acquire(visitor)
	defer r.release()
	v := r.view(name)
	if v == nil {
		return nil, noIndex(name)
	}
	var key K
	compute(&sc, []*definition[T]{v.def}, key, obj, false)
	if len(sc.failed) > 0 {
		return nil, sc.failed[0].err
	}
	list := []T{}
	seen := map[uint32]struct{}{}
	for _, value := range sc.values {
		p := r.posting(v, value)
		if p == nil {
			continue
		}
		for c := range p.chunks() {
			for _, slot := range p.chunk(c) {
				if len(sc.values) > 1 {
					if _, dup := seen[slot]; dup {
						continue
					}
					seen[slot] = struct{}{}
				}
				list = append(list, *r.objs.at(slot))
			}
		}
	}
	return list, nil
}

// ListIndexValues returns the values under which anything is filed in the named index, sorted; none if there is no such
// index.
func (s *Store[K, T]) ListIndexValues(name string) []string {
	r := s.acquire(visitor)
	defer r.release()
	v := r.view(name)
	if v == nil {
		return nil
	}
	values := []string{}
	var last *bucket
	for _, b := range v.dir.buckets {
		if b == last {
			continue
		}
		last = b
		for _, id := range b.all() {
			values = append(values, (*v.posts.at(id)).value)
		}
	}
	slices.Sort(values)
	return values
}
