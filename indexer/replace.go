package indexer

import (
	"errors"
	"fmt"
)

// Replace makes objs the whole content of the store and resourceVersion its version, in one moment for every reader. Of
// objects with the same key the last counts. Objects without a key are left out, and the error joins one for each.
// Readers and writers go on until the content is built. Their writes may be replaced.
func (s *Store[K, T]) Replace(objs []T, resourceVersion string) error {
	var errs []error
	keys, kept := make([]K, 0, len(objs)), make([]T, 0, len(objs))
	for i, obj := range objs {
		key, err := s.opts.KeyFunc(obj)
		if err != nil {
			errs = append(errs, fmt.Errorf("object %d of %d has no key: %w", i, len(objs), err))
			continue
		}
		keys, kept = append(keys, key), append(kept, obj)
	}
	s.ReplaceKeyed(keys, kept, resourceVersion)
	return errors.Join(errs...)
}

// ReplaceKeyed is Replace that stores objs[i] under keys[i]. The slices stay the caller's.
func (s *Store[K, T]) ReplaceKeyed(keys []K, objs []T, resourceVersion string) {
	// A snapshot that is taken before the content is in place begins the next epoch. Chunks are then copied in vain.
	epoch := s.epoch.Load()
	next := content[K, T]{slots: make(map[K]uint32, len(keys))}
	for i, key := range keys {
		if slot, ok := next.slots[key]; ok {
			*next.objs.edit(slot, epoch) = objs[i]
		} else {
			next.insert(key, objs[i], epoch)
		}
	}
	sc := s.scratch.Get().(*scratch[K])
	s.lockWithValues(sc, func(defs []*definition[T]) { next.fill(sc, defs, epoch) })
	s.present.Store(nil)
	s.content, s.rv = next, resourceVersion
	s.mu.Unlock()
	s.finish(sc)
}

// fill makes the indices of a content that has its objects.
func (c *content[K, T]) fill(sc *scratch[K], defs []*definition[T], epoch uint64) {
	c.indices = make([]*index[T], len(defs))
	for j, def := range defs {
		c.indices[j] = newIndex(def, c.keys.len, epoch)
	}
	for slot := range uint32(c.keys.len) {
		clear(sc.memory)
		sc.values, sc.memory = sc.values[:0], sc.memory[:0]
		compute(sc, defs, *c.keys.at(slot), *c.objs.at(slot))
		for i, ix := range c.indices {
			ix.file(slot, sc.values[i], epoch)
		}
	}
}
