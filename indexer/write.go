package indexer

// Add stores obj under its key, in place of what was there. The error is KeyFunc's; nothing is stored then.
func (s *Store[K, T]) Add(obj T) error {
	key, err := s.keyFunc(obj)
	if err != nil {
		return err
	}
	ops := [1]Op[K, T]{{Key: key, Obj: obj}}
	s.Apply(ops[:], "")
	return nil
}

// Update is Add.
func (s *Store[K, T]) Update(obj T) error { return s.Add(obj) }

// Delete removes what is stored under obj's key, if anything. The error is KeyFunc's.
func (s *Store[K, T]) Delete(obj T) error {
	key, err := s.keyFunc(obj)
	if err != nil {
		return err
	}
	s.DeleteKey(key)
	return nil
}

// DeleteKey removes what is stored under key, if anything.
func (s *Store[K, T]) DeleteKey(key K) {
	ops := [1]Op[K, T]{{Key: key, Delete: true}}
	s.Apply(ops[:], "")
}

// Apply runs ops in order as one transaction: no reader sees a part of it, nor, having seen an effect of it in one read,
// misses another in its next. It fills in Old and Existed of each operation. Unless empty, resourceVersion becomes the
// store's, in the same moment. The slice stays the caller's.
func (s *Store[K, T]) Apply(ops []Op[K, T], resourceVersion string) {
	if len(ops) == 0 {
		s.Bookmark(resourceVersion)
		return
	}
	sc := s.getScratch()
	s.transact(ops, resourceVersion, sc)
	s.putScratch(sc)
}

// transact is Apply without the report of failures: while that runs, in code of the caller's, no write is under way.
func (s *Store[K, T]) transact(ops []Op[K, T], resourceVersion string, sc *scratch[K]) {
	s.writers.Add(1)
	defer s.writers.Add(-1)
	sc.tags = sc.tags[:0]
	for i := range ops {
		sc.tags = append(sc.tags, s.tagOf(ops[i].Key))
	}
	s.lockWithValues(sc, func(defs []*definition[T]) {
		for i := range ops {
			compute(sc, defs, ops[i].Key, ops[i].Obj, ops[i].Delete)
		}
	})
	s.beginLocked()
	if len(ops) > 1 {
		s.disturbLocked()
	}
	left := false // a slot, or a place under an index value
	for i := range ops {
		left = s.applyLocked(ops, i, sc) || left
	}
	s.storeLocked(ops, sc)
	if left {
		s.compactLocked()
	}
	if resourceVersion != "" {
		s.rv = resourceVersion
	}
	s.commitLocked()
}

// lockWithValues locks mu with sc holding the values for the indices as they are now: if indices came or went while the
// index functions ran, they run again.
func (s *Store[K, T]) lockWithValues(sc *scratch[K], compute func(defs []*definition[T])) {
	for {
		defs := s.defs.Load()
		compute(*defs)
		lock(&s.mu)
		if s.defs.Load() == defs {
			return
		}
		s.mu.Unlock()
		sc.reset()
	}
}

// Bookmark sets the store's resourceVersion; an empty one leaves it.
func (s *Store[K, T]) Bookmark(resourceVersion string) {
	if resourceVersion == "" {
		return
	}
	lock(&s.mu)
	s.beginLocked()
	s.rv = resourceVersion
	s.commitLocked()
}

// ResourceVersion returns the store's resourceVersion, as of the last Replace, Apply or Bookmark that named one.
func (s *Store[K, T]) ResourceVersion() string {
	lock(&s.mu)
	defer s.mu.Unlock()
	return s.rv
}

// applyLocked applies an operation, or puts it among the updates of sc. It tells whether the object left its slot or a place
// under an index value.
func (s *Store[K, T]) applyLocked(ops []Op[K, T], i int, sc *scratch[K]) (left bool) {
	op, tag := &ops[i], sc.tags[i]
	// Lookups that go without a lock know the slot of each key, so its chunk is not owned. Those with a lock load one cell.
	free := len(ops) == 1 && s.objs.cells && s.resting.Load() != nil
	if !free { // before the search: what is loaded after it must wait for the lock
		s.lockStripeLocked(tag)
	}
	slot, ok := find(s.table.dir.Load(), s.keys.sp.Load(), op.Key, tag)
	var none T
	op.Old, op.Existed = none, ok
	switch {
	case op.Delete && ok:
		s.storeLocked(ops, sc)
		op.Old = *s.objs.at(slot)
		s.moveLocked()
		s.removeLocked(slot, tag)
		return true
	case op.Delete:
	case ok:
		if !s.pointers {
			s.moveLocked() // not that one, but lookups read the objects of their snapshot
		}
		if s.objs.cells {
			op.Old = *s.objs.at(slot) // as a rule: see storeLocked, for which it is fetched here
			sc.updates = append(sc.updates, update{i, slot})
		} else {
			op.Old = s.objs.swap(slot, op.Obj, &s.clock)
		}
		for j, ix := range s.indices {
			left = ix.update(slot, sc.valuesOf(i, j, len(s.indices)), &s.clock) || left
		}
		if !free && s.cloneKey == nil && s.keys.owned(slot, &s.clock) {
			// An equal key, but its strings are likely obj's own: the old object's need not be kept for it. To copy the
			// chunk for that would as a rule cost more than they weigh.
			s.keys.set(slot, op.Key, &s.clock)
		}
	default:
		s.moveLocked()
		s.lockStripeLocked(tag) // if it is free
		slot = s.n
		s.n++
		key := op.Key
		if s.cloneKey != nil {
			key = s.cloneKey(key)
		}
		s.keys.push(slot, key, &s.clock)
		s.objs.push(slot, op.Obj, &s.clock)
		s.table.insert(tag, slot, &s.clock)
		for j, ix := range s.indices {
			ix.add(slot, sc.valuesOf(i, j, len(s.indices)), &s.clock)
		}
	}
	return left
}

// storeLocked stores the objects of sc's updates, which are put off until here since a processor that stores a cell waits for
// all that it has begun: so the searches for many updates go side by side.
func (s *Store[K, T]) storeLocked(ops []Op[K, T], sc *scratch[K]) {
	for _, u := range sc.updates {
		ops[u.op].Old = s.objs.swap(u.slot, ops[u.op].Obj, &s.clock)
	}
	sc.updates = sc.updates[:0]
}

// removeLocked moves the last object into the gap.
func (s *Store[K, T]) removeLocked(slot, tag uint32) {
	s.lockStripeLocked(tag)
	w := &s.clock
	last := s.n - 1
	for _, ix := range s.indices {
		ix.remove(slot, last, w)
	}
	s.table.remove(tag, slot, w)
	if slot != last {
		key := *s.keys.at(last)
		tag := s.tagOf(key)
		s.lockStripeLocked(tag)
		s.table.relabel(tag, last, slot, w)
		s.keys.set(slot, key, w)
		s.objs.set(slot, *s.objs.at(last), w)
	}
	s.keys.pop(s.n, w)
	s.objs.pop(s.n, w)
	s.n--
}
