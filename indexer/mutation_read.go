package indexer

import (
	"fmt"
	"slices"
)

// Reads look at the mutations first and at the backing store afterwards. The other way round, a mutation could be let go in
// between because the backing store has caught up, and a read would find neither.

// GetByKey returns the newer of what the backing store has under key and what was written. What the backing store does not
// have is missing, unless MutationOptions.IncludeAdds.
func (c *MutationCache[K, T]) GetByKey(key K) (obj T, ok bool) {
	e, written := c.lookup(key)
	obj, ok = c.backing.GetByKey(key)
	if !written {
		return obj, ok
	}
	return c.newer(obj, ok, e)
}

// ByIndex returns the objects that are filed under value in the backing store's index of that name, the newer version of each
// counting: one that was written may appear under a value, or be gone from it, before the backing store knows. It is an error if
// there is no such index. The slice is the caller's.
func (c *MutationCache[K, T]) ByIndex(name, value string) ([]T, error) {
	written := c.written()
	objs, err := c.backing.ByIndex(name, value)
	if err != nil || len(written) == 0 {
		return objs, err
	}
	index, ok := c.backing.GetIndexers()[name]
	if !ok {
		return nil, noIndex(name)
	}
	list := make([]T, 0, len(objs))
	for _, obj := range objs {
		// What was written is looked at below, so that an object counts once, wherever its two versions are filed.
		if key, err := c.opts.KeyFunc(obj); err != nil || written[key] == nil {
			list = append(list, obj)
		}
	}
	def := &definition[T]{name, index}
	for key, e := range written {
		obj, ok := c.backing.GetByKey(key)
		if obj, ok = c.newer(obj, ok, e); ok && c.filed(def, key, obj, value) {
			list = append(list, obj)
		}
	}
	return list, nil
}

// written returns all entries.
func (c *MutationCache[K, T]) written() map[K]*aged[K, mutation[T]] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mutations.expire()
	entries := make(map[K]*aged[K, mutation[T]], len(c.mutations.byK))
	for e := range c.mutations.entries() {
		entries[e.key] = e
	}
	return entries
}

// newer decides between what the backing store has, if ok, and e, which it forgets if it is no longer needed.
func (c *MutationCache[K, T]) newer(backing T, ok bool, e *aged[K, mutation[T]]) (T, bool) {
	m := e.value
	if !ok {
		if c.opts.IncludeAdds && !m.deleted {
			return m.obj, true
		}
		return backing, false
	}
	order, err := c.opts.Compare(backing, m.obj)
	switch {
	case err != nil:
		c.report(e.key, fmt.Errorf("comparing versions: %w", err))
	case order >= 0:
		c.mu.Lock()
		c.mutations.removeEntry(e)
		c.mu.Unlock()
	case !m.deleted:
		return m.obj, true
	}
	return backing, true
}

func (c *MutationCache[K, T]) filed(def *definition[T], key K, obj T, value string) bool {
	var sc scratch[K]
	compute(&sc, []*definition[T]{def}, key, obj, false)
	if len(sc.failed) > 0 {
		c.report(key, sc.failed[0].err)
		return false
	}
	return slices.Contains(sc.values, value)
}

func (c *MutationCache[K, T]) report(key K, err error) {
	if c.opts.OnError != nil {
		c.opts.OnError(key, err)
	}
}
