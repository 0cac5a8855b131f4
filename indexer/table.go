package indexer

import "slices"

// chunkLen is the number of entries in a full chunk.
const chunkLen = 256

// table is an array of entries by slot, cut into chunks. All chunks but the last are full, and none is empty.
//
// A snapshot has a list of chunks of its own, but shares their entries with the store (copy-on-write). freeze marks the
// store's chunks as shared. The first write to such a chunk copies its entries and leaves the old ones to the snapshot.
type table[E any] struct {
	chunks []chunk[E]
	len    int
}

type chunk[E any] struct {
	entries []E
	shared  bool // with a snapshot; it stays so when nobody uses the snapshot any more
}

func (t *table[E]) at(slot uint32) E { return t.chunks[slot/chunkLen].entries[slot%chunkLen] }

func (t *table[E]) set(slot uint32, e E) { t.writable(slot).entries[slot%chunkLen] = e }

// push adds an entry at the end. The first chunk grows, for small stores. The others have room for all their entries.
func (t *table[E]) push(e E) {
	slot := uint32(t.len)
	if slot == 0 {
		t.chunks = append(t.chunks, chunk[E]{})
	} else if slot%chunkLen == 0 {
		t.chunks = append(t.chunks, chunk[E]{entries: make([]E, 0, chunkLen)})
	}
	c := t.writable(slot)
	c.entries = append(c.entries, e)
	t.len++
}

// pop removes the last entry.
func (t *table[E]) pop() {
	t.len--
	slot := uint32(t.len)
	c := t.writable(slot)
	var zero E
	c.entries[slot%chunkLen] = zero // so that it keeps no object alive
	c.entries = c.entries[:slot%chunkLen]
	if len(c.entries) == 0 {
		t.chunks = slices.Delete(t.chunks, len(t.chunks)-1, len(t.chunks))
	}
}

// writable returns the chunk of a slot, with entries that no snapshot shares.
func (t *table[E]) writable(slot uint32) *chunk[E] {
	c := &t.chunks[slot/chunkLen]
	if c.shared {
		c.entries = append(make([]E, 0, cap(c.entries)), c.entries...)
		c.shared = false
	}
	return c
}

// freeze returns a table for a snapshot. Later writes to t do not change it.
func (t *table[E]) freeze() table[E] {
	for i := range t.chunks {
		t.chunks[i].shared = true
	}
	return table[E]{slices.Clone(t.chunks), t.len}
}

// list returns all entries. The slice is the caller's.
func (t *table[E]) list() []E {
	list := make([]E, 0, t.len)
	for _, c := range t.chunks {
		list = append(list, c.entries...)
	}
	return list
}

// pick returns the entries of some slots. The slice is the caller's.
func (t *table[E]) pick(slots map[uint32]struct{}) []E {
	picked := make([]E, 0, len(slots))
	for slot := range slots {
		picked = append(picked, t.at(slot))
	}
	return picked
}
