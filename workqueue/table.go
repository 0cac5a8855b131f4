package workqueue

import (
	"hash/maphash"
	"math/bits"
)

// minBuckets is the size of an unused table, and spareEntries how many unused entries, and slots for them, a queue may
// always keep.
const (
	minBuckets   = 64
	spareEntries = 1024
)

// table finds the entry of an item, and recycles entries so that a queue in steady state allocates nothing. It is a chained
// hash table of its own because the entries carry their hash: an item is hashed once from Add to Done, where a map would
// hash it to look it up, again to insert it, and again to delete it. It shrinks, too, which a map does not: see round.
//
// Invariant: buckets has a power of two of slots; an entry is in the chain of slot hash & (slots-1).
type table[T comparable] struct {
	seed    maphash.Seed // never changes
	buckets []*entry[T]
	len     int
	free    *entry[T] // linked by chain
	spares  int
	round   round
}

func (t *table[T]) init() {
	t.seed = maphash.MakeSeed()
	t.buckets = make([]*entry[T], minBuckets)
}

// hash needs no lock. It panics if T is an interface and item's type has no equality.
func (t *table[T]) hash(item T) uint64 { return maphash.Comparable(t.seed, item) }

// find returns the entry of item, whose hash is hash, or nil.
func (t *table[T]) find(item T, hash uint64) *entry[T] {
	for e := t.buckets[hash&uint64(len(t.buckets)-1)]; e != nil; e = e.chain {
		if e.hash == hash && e.item == item {
			return e
		}
	}
	return nil
}

// get returns the entry of item, a blank one if there was none.
func (t *table[T]) get(item T, hash uint64) *entry[T] {
	if e := t.find(item, hash); e != nil {
		return e
	}
	// Twice as many slots as entries: to look at an entry that happens to be in the same slot is a cache miss.
	if t.len >= len(t.buckets)/2 {
		t.resize(2 * len(t.buckets))
	}
	e := t.free
	if e != nil {
		t.free = e.chain
		t.spares--
	} else {
		e = new(entry[T])
	}
	e.item, e.hash = item, hash
	slot := &t.buckets[hash&uint64(len(t.buckets)-1)]
	e.chain, *slot = *slot, e
	t.len++
	t.round.uses(t.len)
	return e
}

// release takes e out of the table if nothing is left to be known of it.
func (t *table[T]) release(e *entry[T]) {
	if e.state != 0 || e.delayed() {
		return
	}
	slot := &t.buckets[e.hash&uint64(len(t.buckets)-1)]
	for *slot != e {
		slot = &(*slot).chain
	}
	*slot = e.chain
	t.len--
	// Blank: a spare entry must not keep the item's memory alive.
	*e = entry[T]{chain: t.free}
	t.free = e
	t.spares++
	if t.round.frees(len(t.buckets)) {
		t.endRound()
	}
}

func (t *table[T]) endRound() {
	if fit := t.round.fit(t.len + t.spares); fit < t.len+t.spares {
		t.keepSpares(fit - t.len)
	}
	if fit := t.round.fit(len(t.buckets)); fit < len(t.buckets) {
		t.resize(1 << bits.Len(uint(fit-1)))
	}
	t.round = round{peak: t.len}
}

// keepSpares drops all spare entries but n.
func (t *table[T]) keepSpares(n int) {
	last := &t.free
	for range n {
		last = &(*last).chain
	}
	*last, t.spares = nil, n
}

func (t *table[T]) resize(slots int) {
	old := t.buckets
	t.buckets = make([]*entry[T], slots)
	for _, e := range old {
		for e != nil {
			next := e.chain
			slot := &t.buckets[e.hash&uint64(slots-1)]
			e.chain, *slot = *slot, e
			e = next
		}
	}
}
