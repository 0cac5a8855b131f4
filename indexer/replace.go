package indexer

import (
	"errors"
	"fmt"
)

// Replace makes objs the whole content of the store and resourceVersion its version, in one moment for every reader. Of
// objects with the same key the last counts. Objects without a key are left out, and the error joins one for each.
// Readers and writers go on until the content is built. A write that ends before the new content is in place is lost
// with the old content.
func (s *Store[K, T]) Replace(objs []T, resourceVersion string) error {
	var errs []error
	keys, keyed := make([]K, 0, len(objs)), make([]T, 0, len(objs))
	for i, obj := range objs {
		if key, err := s.opts.KeyFunc(obj); err != nil {
			errs = append(errs, fmt.Errorf("object %d of %d has no key: %w", i, len(objs), err))
		} else {
			keys, keyed = append(keys, key), append(keyed, obj)
		}
	}
	s.ReplaceKeyed(keys, keyed, resourceVersion)
	return errors.Join(errs...)
}

// ReplaceKeyed is Replace that stores objs[i] under keys[i]. The slices stay the caller's.
func (s *Store[K, T]) ReplaceKeyed(keys []K, objs []T, resourceVersion string) {
	// If a snapshot ends this epoch meanwhile, later writers copy chunks that nobody shares. That only wastes time.
	epoch := s.epoch.Load()
	next := content[K, T]{slots: make(map[K]uint32, len(keys))}
	for i, key := range keys {
		if slot, ok := next.slots[key]; ok {
			*next.objs.edit(slot, epoch) = objs[i]
		} else {
			next.insert(key, objs[i], epoch)
		}
	}
	s.write(func(sc *scratch[K, T]) {
		next.indices = nil
		for _, def := range sc.defs {
			next.indices = append(next.indices, newIndex(def, next.keys.len, epoch))
		}
		for slot := range uint32(next.keys.len) {
			clear(sc.memory)
			sc.values, sc.memory = sc.values[:0], sc.memory[:0]
			sc.compute(*next.keys.at(slot), *next.objs.at(slot))
			for i, ix := range next.indices {
				ix.addPostings(slot, sc.values[i], epoch)
			}
		}
	}, func(*scratch[K, T]) {
		s.present.Store(nil)
		s.content, s.rv = next, resourceVersion
	})
}
