package indexer

import "slices"

// chunkLen is the number of entries in a full chunk.
const chunkLen = 256

// table is an array of entries by slot, cut into chunks. All chunks but the last are full, and none is empty. Methods that
// write take the present epoch: a chunk of an earlier one may be shared with a snapshot, and is copied first.
type table[E any] struct {
	chunks []chunk[E]
	len    int
}

type chunk[E any] struct {
	entries []E
	epoch   uint64 // in which entries was made
}

func (t *table[E]) at(slot uint32) E { return t.chunks[slot/chunkLen].entries[slot%chunkLen] }

func (t *table[E]) set(slot uint32, e E, epoch uint64) {
	t.writable(slot, epoch).entries[slot%chunkLen] = e
}

// writable returns the chunk of a slot. If a snapshot may share its entries, a copy takes their place.
func (t *table[E]) writable(slot uint32, epoch uint64) *chunk[E] {
	c := &t.chunks[slot/chunkLen]
	if c.epoch != epoch {
		c.entries = append(make([]E, 0, cap(c.entries)), c.entries...)
		c.epoch = epoch
	}
	return c
}

// push adds an entry at the end. That needs no copy: a snapshot may share the array, but has a length of its own. The first chunk
// starts without room and grows, for small stores. The others start whole.
func (t *table[E]) push(e E, epoch uint64) {
	slot := uint32(t.len)
	if slot%chunkLen == 0 {
		t.chunks = append(t.chunks, chunk[E]{make([]E, 0, min(slot, chunkLen)), epoch})
	}
	c := &t.chunks[slot/chunkLen]
	c.entries = append(c.entries, e)
	t.len++
}

// pop removes the last entry, and zeroes it so that it keeps no object alive.
func (t *table[E]) pop(epoch uint64) {
	t.len--
	last := uint32(t.len)
	c := t.writable(last, epoch)
	clear(c.entries[last%chunkLen:])
	c.entries = c.entries[:last%chunkLen]
	if len(c.entries) == 0 {
		t.chunks = slices.Delete(t.chunks, len(t.chunks)-1, len(t.chunks))
	}
}

// freeze returns a copy that shares the chunks. Writes to t do not change it if they are of a later epoch.
func (t *table[E]) freeze() table[E] { return table[E]{slices.Clone(t.chunks), t.len} }

// pick returns the entries of some slots in a slice of the caller's.
func (t *table[E]) pick(slots map[uint32]struct{}) []E {
	picked := make([]E, 0, len(slots))
	for slot := range slots {
		picked = append(picked, t.at(slot))
	}
	return picked
}

// list returns all entries in a slice of the caller's.
func (t *table[E]) list() []E {
	list := make([]E, 0, t.len)
	for _, c := range t.chunks {
		list = append(list, c.entries...)
	}
	return list
}
