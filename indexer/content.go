package indexer

import "fmt"

// content is what a store holds. Invariant: slots[keys.at(i)] == i for each slot i, and each table has len(slots) entries.
type content[K comparable, T any] struct {
	slots   map[K]uint32
	keys    table[K]
	objs    table[T]
	indices []*index[T]
	removed int // keys that have left slots since the content was made
	rv      string
}

// newContent returns a content with objs[i] under keys[i], and without indices. Of equal keys the last counts.
func newContent[K comparable, T any](keys []K, objs []T, rv string) content[K, T] {
	c := content[K, T]{slots: make(map[K]uint32, len(keys)), rv: rv}
	for i, key := range keys {
		c.set(key, objs[i])
	}
	return c
}

func (c *content[K, T]) get(key K) (obj T, ok bool) {
	slot, ok := c.slots[key]
	if ok {
		obj = c.objs.at(slot)
	}
	return obj, ok
}

// set stores an object and returns its slot, and what was there before. It leaves the index values to the caller.
func (c *content[K, T]) set(key K, obj T) (slot uint32, old T, existed bool) {
	slot, existed = c.slots[key]
	if existed {
		old = c.objs.at(slot)
		c.objs.set(slot, obj)
		return slot, old, true
	}
	slot = uint32(c.keys.len)
	c.slots[key] = slot
	c.keys.push(key)
	c.objs.push(obj)
	for _, ix := range c.indices {
		ix.push(nil)
	}
	return slot, old, false
}

// remove takes out an object and returns it. The object in the last slot moves to the slot that is free now.
func (c *content[K, T]) remove(key K) (old T, existed bool) {
	slot, existed := c.slots[key]
	if !existed {
		return old, false
	}
	old = c.objs.at(slot)
	last := uint32(c.keys.len - 1)
	moved := c.keys.at(last)
	c.slots[moved] = slot
	c.keys.set(slot, moved)
	c.objs.set(slot, c.objs.at(last))
	delete(c.slots, key) // after the moved key got its slot, for it may be the same key
	c.keys.pop()
	c.objs.pop()
	for _, ix := range c.indices {
		ix.remove(slot)
	}
	c.removed++
	return old, true
}

// index returns the index of that name. It is an error if there is none.
func (c *content[K, T]) index(name string) (*index[T], error) {
	for _, ix := range c.indices {
		if ix.name == name {
			return ix, nil
		}
	}
	return nil, fmt.Errorf("indexer: there is no index %q", name)
}

// freeze returns a content without maps, whose tables later writes to c do not change.
func (c *content[K, T]) freeze() content[K, T] {
	frozen := content[K, T]{keys: c.keys.freeze(), objs: c.objs.freeze(), rv: c.rv}
	for _, ix := range c.indices {
		frozen.indices = append(frozen.indices, &index[T]{name: ix.name, fn: ix.fn, values: ix.values.freeze()})
	}
	return frozen
}

// rebuild returns an equal content with maps and tables of its own, as small as they can be.
func (c *content[K, T]) rebuild() content[K, T] {
	next := newContent(c.keys.list(), c.objs.list(), c.rv)
	for _, ix := range c.indices {
		rebuilt := newIndex(ix.name, ix.fn)
		for slot := range uint32(ix.values.len) {
			rebuilt.push(ix.values.at(slot))
		}
		next.indices = append(next.indices, rebuilt)
	}
	return next
}

// isMostlyEmpty tells whether less than a quarter of the memory in maps may be in use. Go's maps do not shrink, so each
// entry that was removed may have left its memory behind. A few of them do not count.
func (c *content[K, T]) isMostlyEmpty() bool {
	used, removed := len(c.slots), c.removed
	for _, ix := range c.indices {
		used += ix.members
		removed += ix.removed
	}
	return removed > chunkLen+3*used
}
