package indexer

// Add stores obj under its key, in place of what was there. The error is KeyFunc's; nothing is stored then.
func (s *Store[K, T]) Add(obj T) error {
	key, err := s.opts.KeyFunc(obj)
	if err == nil {
		s.Apply([]Op[K, T]{{Key: key, Obj: obj}}, "")
	}
	return err
}

// Update is Add.
func (s *Store[K, T]) Update(obj T) error { return s.Add(obj) }

// Delete removes what is stored under obj's key, if anything. The error is KeyFunc's.
func (s *Store[K, T]) Delete(obj T) error {
	key, err := s.opts.KeyFunc(obj)
	if err == nil {
		s.DeleteKey(key)
	}
	return err
}

// DeleteKey removes what is stored under key, if anything.
func (s *Store[K, T]) DeleteKey(key K) {
	s.Apply([]Op[K, T]{{Key: key, Delete: true}}, "")
}

// Apply runs ops in order as one transaction: no reader sees a part of it. It fills in Old and Existed of each
// operation. Unless empty, resourceVersion becomes the store's, in the same moment. The slice stays the caller's.
func (s *Store[K, T]) Apply(ops []Op[K, T], resourceVersion string) {
	s.write(func(sc *scratch[K, T]) {
		for _, op := range ops {
			// A key that cannot be hashed panics here, and not with the lock held.
			_ = op.Key == op.Key
			if !op.Delete {
				sc.compute(op.Key, op.Obj)
			}
		}
	}, func(sc *scratch[K, T]) {
		s.present.Store(nil)
		values, epoch := sc.values, s.epoch.Load()
		for i := range ops {
			op := &ops[i]
			slot, ok := s.slots[op.Key]
			op.Old, op.Existed = *new(T), ok
			if ok {
				op.Old = *s.objs.at(slot)
			}
			if op.Delete {
				if ok {
					s.remove(slot, epoch)
				}
				continue
			}
			if ok {
				*s.objs.edit(slot, epoch) = op.Obj
			} else {
				slot = s.insert(s.opts.CloneKey(op.Key), op.Obj, epoch)
			}
			for j, ix := range s.indices {
				ix.update(slot, values[j], epoch)
			}
			values = values[len(s.indices):]
		}
		if resourceVersion != "" {
			s.rv = resourceVersion
		}
	})
}

// write computes values for the indices as they are, locks mu, changes the content, and reports what failed. If
// indices came or went while their functions ran, they run again.
func (s *Store[K, T]) write(compute, changeLocked func(sc *scratch[K, T])) {
	sc := s.scratch.Get().(*scratch[K, T])
	for {
		defs := s.defs.Load()
		sc.defs = *defs
		compute(sc)
		s.mu.Lock()
		if s.defs.Load() == defs {
			break
		}
		s.mu.Unlock()
		*sc = scratch[K, T]{}
	}
	changeLocked(sc)
	s.mu.Unlock()
	if s.opts.OnError != nil {
		for _, f := range sc.failed {
			s.opts.OnError(s.opts.CloneKey(f.key), f.err)
		}
	}
	if cap(sc.values)+cap(sc.memory) <= 1<<14 { // the memory of a large write is not kept
		clear(sc.values)
		clear(sc.memory)
		*sc = scratch[K, T]{values: sc.values[:0], memory: sc.memory[:0]}
		s.scratch.Put(sc)
	}
}

// Bookmark sets the store's resourceVersion; an empty one leaves it.
func (s *Store[K, T]) Bookmark(resourceVersion string) { s.Apply(nil, resourceVersion) }
