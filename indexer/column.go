package indexer

import "slices"

const (
	chunkBits = 8
	chunkLen  = 1 << chunkBits
)

// column is an array of slots, cut into chunks of 256 entries. A snapshot copies the column struct, which takes
// constant time, and from then on shares the list of chunks and the chunks.
//
//	chunks ─▶ [ epoch 3 │ epoch 7 │ epoch 3 ]      the store is in epoch 7: a snapshot was taken when 6 ended
//	             │          │         │
//	             ▼          ▼         ▼
//	          entries    entries   entries         a writer copies the first and the third before it writes there
//
// Writing methods take the epoch of the store. What was made in an earlier epoch may be shared, and is copied first.
type column[E any] struct {
	chunks []chunk[E]
	len    int
	epoch  uint64 // in which the list of chunks was made
}

// chunk holds up to 256 entries.
// Invariant: all chunks of a column but the last are full. Entries beyond the last are zero.
type chunk[E any] struct {
	entries []E
	epoch   uint64 // in which entries was made
}

// at returns the address of an entry, for reading only. To write, use edit.
func (c *column[E]) at(slot uint32) *E {
	return &c.chunks[slot>>chunkBits].entries[slot%chunkLen]
}

// edit copies what an earlier epoch made: the list of chunks, the chunk.
func (c *column[E]) edit(slot uint32, epoch uint64) *E {
	if c.epoch < epoch {
		c.chunks = append(make([]chunk[E], 0, cap(c.chunks)), c.chunks...)
		c.epoch = epoch
	}
	ch := &c.chunks[slot>>chunkBits]
	if ch.epoch < epoch {
		ch.entries = append(make([]E, 0, cap(ch.entries)), ch.entries...)
		ch.epoch = epoch
	}
	return &ch.entries[slot%chunkLen]
}

// push adds an entry at the end and returns its slot. The first chunk starts small and grows; the others start whole.
func (c *column[E]) push(e E, epoch uint64) (slot uint32) {
	slot = uint32(c.len)
	c.len++
	if slot%chunkLen != 0 {
		c.edit(slot-1, epoch)
	} else {
		if c.epoch < epoch {
			c.chunks, c.epoch = slices.Clip(c.chunks), epoch // append copies
		}
		c.chunks = append(c.chunks, chunk[E]{make([]E, 0, min(slot, chunkLen)), epoch})
	}
	ch := &c.chunks[slot>>chunkBits]
	ch.entries = append(ch.entries, e)
	return slot
}

// pop removes the last entry.
func (c *column[E]) pop(epoch uint64) {
	c.len--
	*c.edit(uint32(c.len), epoch) = *new(E)
	last, n := c.len>>chunkBits, c.len%chunkLen
	ch := &c.chunks[last]
	ch.entries = shrink(ch.entries[:n])
	if n == 0 {
		*ch = chunk[E]{}
		c.chunks = shrink(c.chunks[:last])
	}
}

// shrink returns s in half the memory if it uses a quarter of it or less. Short slices stay.
func shrink[E any](s []E) []E {
	if cap(s) < 8 || len(s)*4 > cap(s) {
		return s
	}
	return append(make([]E, 0, cap(s)/2), s...)
}

// list returns all entries in a slice of the caller's.
func (c *column[E]) list() []E {
	list := make([]E, 0, c.len)
	for _, ch := range c.chunks {
		list = append(list, ch.entries...)
	}
	return list
}
