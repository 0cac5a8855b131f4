package indexer

import "fmt"

// content is what a store holds. Invariant: slots has i for keys.at(i), and each table has an entry for each slot.
type content[K comparable, T any] struct {
	slots   shrinkingMap[K, uint32]
	keys    table[K]
	objs    table[T]
	indices []*index[T]
	rv      string
}

// newContent returns a content with objs[i] under keys[i], and without indices. Of equal keys the last counts.
func newContent[K comparable, T any](keys []K, objs []T, rv string) content[K, T] {
	c := content[K, T]{slots: newShrinkingMap[K, uint32](len(keys)), rv: rv}
	for i, key := range keys {
		c.put(key, objs[i])
	}
	return c
}

// put stores an object. It returns its slot, and what was there before. The caller updates each index.
func (c *content[K, T]) put(key K, obj T) (slot uint32, old T, existed bool) {
	slot, existed = c.slots.entries[key]
	if existed {
		old = c.objs.at(slot)
		c.objs.set(slot, obj)
		return slot, old, true
	}
	slot = uint32(c.keys.len)
	c.slots.put(key, slot)
	c.keys.push(key)
	c.objs.push(obj)
	return slot, old, false
}

// remove takes out an object and returns it. The object in the last slot moves to the slot that is free now.
func (c *content[K, T]) remove(key K) (old T, existed bool) {
	slot, existed := c.slots.entries[key]
	if !existed {
		return old, false
	}
	old = c.objs.at(slot)
	last := uint32(c.keys.len - 1)
	moved := c.keys.at(last)
	c.slots.put(moved, slot)
	c.slots.delete(key) // after the moved key got its slot, for it may be the same key
	c.keys.set(slot, moved)
	c.keys.pop()
	c.objs.set(slot, c.objs.at(last))
	c.objs.pop()
	for _, ix := range c.indices {
		ix.remove(slot)
	}
	return old, true
}

// index returns the index of that name. It is an error if there is none.
func (c *content[K, T]) index(name string) (*index[T], error) {
	for _, ix := range c.indices {
		if ix.name == name {
			return ix, nil
		}
	}
	return nil, unknownIndex(name)
}

func unknownIndex(name string) error { return fmt.Errorf("indexer: there is no index %q", name) }
