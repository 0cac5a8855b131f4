package mutationcache

import (
	"fmt"
	"maps"
	"slices"

	"glasswatch/indexer"
	"glasswatch/internal/guard"
)

// Reads look at the mutations first and at the backing store afterwards. The other way round, a mutation could be let
// go in between because the backing store has caught up, and a read would find neither.

// GetByKey returns the newer of what the backing store has under key and what was written. What the backing store does
// not have is missing, unless Options.IncludeAdds.
func (c *Cache[K, T]) GetByKey(key K) (obj T, ok bool) {
	if e := c.lookup(key); e != nil {
		return c.newer(e)
	}
	return c.backing.GetByKey(key)
}

// ByIndex returns the objects that have value in the backing store's index of that name, the newer version
// of each counting: one that was written may appear under a value, or be gone from it, before the backing store knows.
// It is an error if there is no such index. The slice is the caller's.
func (c *Cache[K, T]) ByIndex(name, value string) ([]T, error) {
	written := c.written()
	objs, err := c.backing.ByIndex(name, value)
	if err != nil || len(written) == 0 {
		return objs, err
	}
	index, ok := c.backing.GetIndexers()[name]
	if !ok {
		return nil, fmt.Errorf("mutationcache: there is no index %q", name)
	}
	list := make([]T, 0, len(objs))
	for _, obj := range objs {
		// What was written is looked at below, so that an object counts once, whatever values its two versions have.
		if key, err := c.opts.KeyFunc(obj); err != nil || written[key] == nil {
			list = append(list, obj)
		}
	}
	for key, e := range written {
		if obj, ok := c.newer(e); ok && c.hasValue(index, key, obj, value) {
			list = append(list, obj)
		}
	}
	return list, nil
}

// written returns all entries.
func (c *Cache[K, T]) written() map[K]*entry[K, mutation[T]] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mutations.expire()
	return maps.Clone(c.mutations.byKey)
}

// newer decides between e and what the backing store has under its key. It forgets e if that is no longer needed.
func (c *Cache[K, T]) newer(e *entry[K, mutation[T]]) (T, bool) {
	backing, ok := c.backing.GetByKey(e.key)
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
	case m.deleted: // it stays, for mutations that come late
	case order >= 0:
		c.exchange(e.key, e, nil)
	default:
		return m.obj, true
	}
	return backing, true
}

// hasValue tells whether an index function gives obj that value. One that fails or panics is reported.
func (c *Cache[K, T]) hasValue(index indexer.IndexFunc[T], key K, obj T, value string) bool {
	values, err := valuesOf(index, obj)
	if err != nil {
		c.report(key, fmt.Errorf("index function: %w", err))
	}
	return err == nil && slices.Contains(values, value)
}

func valuesOf[T any](index indexer.IndexFunc[T], obj T) (values []string, err error) {
	defer guard.Recover("it", &err)
	return index(obj, nil)
}

func (c *Cache[K, T]) report(key K, err error) {
	if c.opts.OnError != nil {
		c.opts.OnError(key, err)
	}
}
