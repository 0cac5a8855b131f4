package indexer

import "slices"

// chunkLen is the number of entries in a full chunk.
const chunkLen = 256

// table is an array of entries by slot, cut into chunks. All chunks but the last are full, and none is empty.
type table[E any] struct {
	chunks []chunk[E]
	len    int
}

type chunk[E any] struct {
	entries []E
	shared  bool // with a snapshot: nobody writes to these entries any more
}

func (t *table[E]) at(slot uint32) E { return t.chunks[slot/chunkLen].entries[slot%chunkLen] }

func (t *table[E]) set(slot uint32, e E) { t.writable(slot).entries[slot%chunkLen] = e }

// writable returns the chunk of a slot. If it was shared, a copy has taken its place.
func (t *table[E]) writable(slot uint32) *chunk[E] {
	c := &t.chunks[slot/chunkLen]
	if c.shared {
		c.entries = append(make([]E, 0, cap(c.entries)), c.entries...)
		c.shared = false
	}
	return c
}

// push adds an entry at the end. The first chunk starts small and grows, for small stores. The others start whole.
func (t *table[E]) push(e E) {
	slot := uint32(t.len)
	if slot%chunkLen == 0 {
		t.chunks = append(t.chunks, chunk[E]{entries: make([]E, 0, min(slot, chunkLen))})
	}
	c := t.writable(slot)
	c.entries = append(c.entries, e)
	t.len++
}

// pop removes the last entry, and zeroes it so that it keeps no object alive.
func (t *table[E]) pop() {
	t.len--
	last := uint32(t.len)
	c := t.writable(last)
	clear(c.entries[last%chunkLen:])
	c.entries = c.entries[:last%chunkLen]
	if len(c.entries) == 0 {
		t.chunks = slices.Delete(t.chunks, len(t.chunks)-1, len(t.chunks))
	}
}

// freeze returns a copy that later writes do not change: both tables share the chunks.
func (t *table[E]) freeze() table[E] {
	for i := range t.chunks {
		t.chunks[i].shared = true
	}
	return table[E]{slices.Clone(t.chunks), t.len}
}

// list returns all entries in a slice of the caller's.
func (t *table[E]) list() []E {
	list := make([]E, 0, t.len)
	for i := range t.chunks { // reads no shared: a reader may freeze the table of a writer that is rebuilding
		list = append(list, t.chunks[i].entries...)
	}
	return list
}
