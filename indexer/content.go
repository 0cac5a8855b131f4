package indexer

import (
	"fmt"
	"slices"
)

// content is what a store holds. Invariant: slots[keys.at(i)] == i for each slot i, and each table has len(slots) entries.
type content[K comparable, T any] struct {
	slots   map[K]uint32
	keys    table[K]
	objs    table[T]
	indices []*index[T]
	rv      string
	peak    int    // the largest number of slots so far: the map keeps the memory for them
	epoch   uint64 // counts the writes that found a snapshot; passed to all tables
}

// newContent returns a content with objs[i] under keys[i], and without indices. Of equal keys the last counts.
func newContent[K comparable, T any](keys []K, objs []T, rv string) content[K, T] {
	c := content[K, T]{slots: make(map[K]uint32, len(keys)), rv: rv}
	for i, key := range keys {
		c.put(key, objs[i], nil)
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

// put stores an object, and files it in indices[i] under values[i]. It returns what was there before.
func (c *content[K, T]) put(key K, obj T, values [][]string) (old T, existed bool) {
	slot, existed := c.slots[key]
	if existed {
		old = c.objs.at(slot)
		c.objs.set(slot, obj, c.epoch)
	} else {
		slot = uint32(c.keys.len)
		c.slots[key] = slot
		c.peak = max(c.peak, len(c.slots))
		c.keys.push(key, c.epoch)
		c.objs.push(obj, c.epoch)
	}
	for i, ix := range c.indices {
		ix.update(slot, values[i], c.epoch)
	}
	return old, existed
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
	c.keys.set(slot, moved, c.epoch)
	c.objs.set(slot, c.objs.at(last), c.epoch)
	delete(c.slots, key) // after the moved key got its slot, for it may be the same key
	c.keys.pop(c.epoch)
	c.objs.pop(c.epoch)
	for _, ix := range c.indices {
		ix.remove(slot, c.epoch)
	}
	return old, true
}

func (c *content[K, T]) has(name string) bool {
	return slices.ContainsFunc(c.indices, func(ix *index[T]) bool { return ix.name == name })
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

// freeze returns a content for readers of tables. Writes to c do not change it once lockReadersOut has begun another epoch.
// It has no slots and no sets of its own: its filed tables share the store's sets, of which it may only read the values.
func (c *content[K, T]) freeze() content[K, T] {
	frozen := content[K, T]{keys: c.keys.freeze(), objs: c.objs.freeze(), rv: c.rv}
	for _, ix := range c.indices {
		frozen.indices = append(frozen.indices, &index[T]{name: ix.name, fn: ix.fn, filed: ix.filed.freeze()})
	}
	return frozen
}

// clone returns an equal content with maps and tables of its own, as small as they can be.
func (c *content[K, T]) clone() content[K, T] {
	next := newContent(c.keys.list(), c.objs.list(), c.rv)
	for _, ix := range c.indices {
		ofNext := newIndex(ix.name, ix.fn)
		var values []string
		for slot := range uint32(ix.filed.len) {
			values = values[:0]
			for _, s := range ix.filed.at(slot) {
				values = append(values, s.value)
			}
			ofNext.update(slot, values, next.epoch)
		}
		next.indices = append(next.indices, ofNext)
	}
	return next
}
