package indexer

import "fmt"

// content is what a store holds. Invariant: slots[keys.at(i)] == i for each slot i, and each table has len(slots) entries.
type content[K comparable, T any] struct {
	slots   map[K]uint32
	keys    table[K]
	objs    table[T]
	indices []*index[T]
	rv      string
	peak    int    // the largest room since the content was made; only writers look at it
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

// index returns the index of that name. It is an error if there is none.
func (c *content[K, T]) index(name string) (*index[T], error) {
	for _, ix := range c.indices {
		if ix.name == name {
			return ix, nil
		}
	}
	return nil, fmt.Errorf("indexer: there is no index %q", name)
}

// freeze returns a content without maps that later writes to c do not change, once c is in another epoch.
func (c *content[K, T]) freeze() content[K, T] {
	frozen := content[K, T]{keys: c.keys.freeze(), objs: c.objs.freeze(), rv: c.rv}
	for _, ix := range c.indices {
		frozen.indices = append(frozen.indices, &index[T]{name: ix.name, fn: ix.fn, filed: ix.filed.freeze()})
	}
	return frozen
}

// entries returns the number of entries in the maps.
func (c *content[K, T]) entries() int {
	entries := len(c.slots)
	for _, ix := range c.indices {
		entries += ix.members
	}
	return entries
}

// room returns for how many entries the maps keep memory, where maps that are there no more do not count.
func (c *content[K, T]) room() int {
	room := len(c.slots)
	for _, ix := range c.indices {
		room += ix.room
	}
	return room
}

// isMostlyEmpty tells whether less than a quarter of what the maps once held is left. Go's maps keep the memory for all.
func (c *content[K, T]) isMostlyEmpty() bool { return c.peak > max(chunkLen, 4*c.entries()) }

// rebuild returns an equal content with maps and tables of its own, as small as they can be.
func (c *content[K, T]) rebuild() content[K, T] {
	next := newContent(c.keys.list(), c.objs.list(), c.rv)
	for _, ix := range c.indices {
		rebuilt := newIndex(ix.name, ix.fn)
		var values []string
		for slot := range uint32(ix.filed.len) {
			values = values[:0]
			for _, s := range ix.filed.at(slot) {
				values = append(values, s.value)
			}
			rebuilt.update(slot, values, next.epoch)
		}
		next.indices = append(next.indices, rebuilt)
	}
	return next
}
