package indexer

import (
	"errors"
	"fmt"
	"slices"
)

// Op is one write of a transaction.
type Op[K comparable, T any] struct {
	Key    K
	Obj    T
	Delete bool // removes Key instead of storing Obj
	// Filled in by Apply: what was stored under Key right before this operation.
	Old     T
	Existed bool
}

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
func (s *Store[K, T]) DeleteKey(key K) { s.Apply([]Op[K, T]{{Key: key, Delete: true}}, "") }

// Bookmark sets the store's resourceVersion; an empty one leaves it.
func (s *Store[K, T]) Bookmark(resourceVersion string) { s.Apply(nil, resourceVersion) }

// Apply runs ops in order as one transaction: no reader sees a part of it. It fills in Old and Existed of each
// operation. Unless empty, resourceVersion becomes the store's, in the same moment. The slice stays the caller's.
func (s *Store[K, T]) Apply(ops []Op[K, T], resourceVersion string) {
	s.write(func() {
		for _, op := range ops {
			panicUnlessHashable(op.Key) // before anything has changed
			if op.Delete {
				continue
			}
			for _, ix := range s.content.indices {
				s.answers.add(s.ask(ix, op.Key, op.Obj, s.answers.scratch))
			}
		}
		s.lockReadersOut(func() { s.applyLocked(ops, resourceVersion) })
	})
}

// panicUnlessHashable panics if the key is an interface that holds a slice, a map or a function: no map can have it.
// The panic is that of a lookup in a map.
func panicUnlessHashable[K comparable](key K) {
	var none map[K]struct{}
	_ = none[key]
}

// applyLocked takes the answers in the order in which Apply asked: by operation, then by index.
func (s *Store[K, T]) applyLocked(ops []Op[K, T], resourceVersion string) {
	for i := range ops {
		op := &ops[i]
		if op.Delete {
			op.Old, op.Existed = s.content.remove(op.Key)
			continue
		}
		var slot uint32
		slot, op.Old, op.Existed = s.content.put(op.Key, op.Obj)
		for _, ix := range s.content.indices {
			ix.update(slot, s.answers.next())
		}
	}
	if resourceVersion != "" {
		s.content.rv = resourceVersion
	}
}

// Replace makes objs the whole content of the store and resourceVersion its version, in one moment for every reader. Of
// objects with the same key the last counts. An empty version is set, too. Objects without a key are left out, and the
// error joins one for each. Readers go on until the new content is complete.
func (s *Store[K, T]) Replace(objs []T, resourceVersion string) error {
	var errs []error
	keys, keyed := make([]K, 0, len(objs)), make([]T, 0, len(objs))
	for i, obj := range objs {
		key, err := s.opts.KeyFunc(obj)
		if err != nil {
			errs = append(errs, fmt.Errorf("object %d of %d has no key: %w", i, len(objs), err))
			continue
		}
		keys, keyed = append(keys, key), append(keyed, obj)
	}
	s.ReplaceKeyed(keys, keyed, resourceVersion)
	return errors.Join(errs...)
}

// ReplaceKeyed is Replace that stores objs[i] under keys[i]. The slices stay the caller's.
func (s *Store[K, T]) ReplaceKeyed(keys []K, objs []T, resourceVersion string) {
	s.write(func() {
		next := newContent(keys, objs, resourceVersion)
		for _, ix := range s.content.indices {
			next.indices = append(next.indices, s.indexOf(&next, ix.name, ix.fn))
		}
		s.lockReadersOut(func() { s.content = next })
	})
}

// AddIndexers adds indices and indexes what the store holds. If a name is taken, it is an error and nothing changes.
// Readers go on, and see the indices once all of them are complete. Writers wait.
func (s *Store[K, T]) AddIndexers(add Indexers[T]) (err error) {
	s.write(func() {
		for _, ix := range s.content.indices {
			_, taken := add[ix.name]
			if taken {
				err = fmt.Errorf("indexer: there is an index %q already", ix.name)
				return
			}
		}
		indices := slices.Clone(s.content.indices)
		for name, fn := range add {
			indices = append(indices, s.indexOf(&s.content, name, fn))
		}
		s.lockReadersOut(func() { s.content.indices = indices })
	})
	return err
}

// RemoveIndexers removes indices. Snapshots keep theirs. If a name is unknown, it is an error and nothing changes.
func (s *Store[K, T]) RemoveIndexers(names ...string) (err error) {
	s.write(func() {
		for _, name := range names {
			_, err = s.content.index(name)
			if err != nil {
				return
			}
		}
		removed := func(ix *index[T]) bool { return slices.Contains(names, ix.name) }
		kept := slices.DeleteFunc(slices.Clone(s.content.indices), removed)
		s.lockReadersOut(func() { s.content.indices = kept })
	})
	return err
}
