package indexer

import "maps"

// content is what a store holds: objects in slots without gaps, and their indices.
//
//	        slots                   slot 0 1 2 … n-1
//	key ──▶ map ────────────▶ keys       |k|k|k|…|k|
//	                          objs       |o|o|o|…|o|
//
// A store's mutex guards the content that is in place. Replace builds another one beside it.
type content[K comparable, T any] struct {
	slots map[K]uint32
	peak  int // the largest length of slots since it was made
	// Invariant: keys and objs have the length of slots. slots[keys[i]] == i.
	keys    column[K]
	objs    column[T]
	indices []*index[T]
}

// insert puts an object that is new in a slot. The caller must index it: until then it is pending, see posting.
func (c *content[K, T]) insert(key K, obj T, epoch uint64) (slot uint32) {
	slot = c.keys.push(key, epoch)
	c.objs.push(obj, epoch)
	for _, ix := range c.indices {
		ix.postings = append(ix.postings, posting{})
	}
	c.slots[key] = slot
	c.peak = max(c.peak, len(c.slots))
	return slot
}

// remove empties a slot: the last object moves into the gap.
func (c *content[K, T]) remove(slot uint32, epoch uint64) {
	last := uint32(c.keys.len - 1)
	for _, ix := range c.indices {
		ix.remove(slot, last, epoch)
	}
	removed, moved := *c.keys.at(slot), *c.keys.at(last)
	*c.keys.edit(slot, epoch) = moved
	*c.objs.edit(slot, epoch) = *c.objs.at(last)
	c.slots[moved] = slot
	delete(c.slots, removed) // last: it may be the one that moved
	c.keys.pop(epoch)
	c.objs.pop(epoch)
	if mostlyEmpty(len(c.slots), c.peak) {
		small := make(map[K]uint32, len(c.slots))
		maps.Copy(small, c.slots)
		c.slots, c.peak = small, len(small)
	}
}

// mostlyEmpty tells whether a map that once had peak entries uses less than a quarter of its memory. Go's maps keep
// the memory of their largest size, so such a map is made anew.
func mostlyEmpty(n, peak int) bool { return peak > chunkLen && n*4 < peak }

// index returns the index of that name, complete or not; nil if there is none.
func (c *content[K, T]) index(name string) *index[T] {
	for _, ix := range c.indices {
		if ix.def.name == name {
			return ix
		}
	}
	return nil
}
