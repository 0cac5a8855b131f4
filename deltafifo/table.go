package deltafifo

import (
	"hash/maphash"
	"math/bits"
)

// Entries are made in slabs of as many as there are already, but not more than maxSlab.
const (
	minBuckets = 16
	maxSlab    = 256
)

// pending is a key and what happened to it.
type pending[K comparable, T any] struct {
	key    K
	deltas []Delta[K, T]
	// list is the number of the last Replace that named the key.
	list uint64
	// hash and chain are the table's.
	hash  uint64
	chain *pending[K, T]
	// first is where deltas begins: most keys change once before they are popped.
	first [1]Delta[K, T]
}

// table finds the entry of a key, and recycles entries. It is a chained hash table of its own because its entries carry
// their hash: a key is hashed once from its change to its pop, where a map would hash it to look it up, again to insert
// it, and again to delete it. And it is hashed before the lock is taken, but for the known objects' keys, which are only
// read under it.
//
// Invariant: buckets has a power of two of slots; an entry is in the chain of slot hash & (slots-1). Free entries have a
// zero key and no deltas, and what their list of deltas has room for is zero.
type table[K comparable, T any] struct {
	seed    maphash.Seed // never changes: it is read without the lock
	buckets []*pending[K, T]
	len     int
	free    *pending[K, T] // linked by chain
	made    int            // entries, in use or free
}

func newTable[K comparable, T any]() table[K, T] {
	t := table[K, T]{seed: maphash.MakeSeed()}
	t.forget()
	return t
}

// forget gives all memory back. The table must be empty.
func (t *table[K, T]) forget() {
	t.buckets, t.free, t.made = make([]*pending[K, T], minBuckets), nil, 0
}

// hash needs no lock.
func (t *table[K, T]) hash(key K) uint64 { return maphash.Comparable(t.seed, key) }

// hashAll needs no lock.
func (t *table[K, T]) hashAll(items []Item[K, T]) []uint64 {
	hashes := make([]uint64, len(items))
	for i := range items {
		hashes[i] = t.hash(items[i].Key)
	}
	return hashes
}

// find returns the entry of key, whose hash is hash, or nil.
func (t *table[K, T]) find(key K, hash uint64) *pending[K, T] {
	for p := *t.slot(hash); p != nil; p = p.chain {
		if p.hash == hash && p.key == key {
			return p
		}
	}
	return nil
}

func (t *table[K, T]) slot(hash uint64) **pending[K, T] {
	return &t.buckets[hash&uint64(len(t.buckets)-1)]
}

// add returns an entry for key, which must not have one. Its list of deltas is empty.
func (t *table[K, T]) add(key K, hash uint64) *pending[K, T] {
	t.reserve(t.len + 1)
	if t.free == nil {
		t.makeFree(max(1, min(t.made, maxSlab)))
	}
	p := t.free
	t.free = p.chain
	p.key, p.hash = key, hash
	slot := t.slot(hash)
	p.chain, *slot = *slot, p
	t.len++
	return p
}

// remove takes p out of the table. Its user gives it back with recycle.
func (t *table[K, T]) remove(p *pending[K, T]) {
	slot := t.slot(p.hash)
	for *slot != p {
		slot = &(*slot).chain
	}
	*slot, p.chain = p.chain, nil
	t.len--
}

// recycle makes an entry that was removed free: it keeps nothing alive.
func (t *table[K, T]) recycle(p *pending[K, T]) {
	clear(p.deltas)
	if p.first[0].Type != 0 {
		clear(p.first[:]) // deltas has outgrown it
	}
	if cap(p.deltas) > maxKeptDeltas {
		p.deltas = p.first[:]
	}
	var none K
	p.key, p.deltas, p.list = none, p.deltas[:0], 0
	p.chain, t.free = t.free, p
}

// reserve makes room for n entries.
func (t *table[K, T]) reserve(n int) {
	if n <= len(t.buckets) {
		return
	}
	old := t.buckets
	t.buckets = make([]*pending[K, T], 1<<bits.Len(uint(n-1)))
	for _, p := range old {
		for p != nil {
			next, slot := p.chain, t.slot(p.hash)
			p.chain, *slot = *slot, p
			p = next
		}
	}
}

func (t *table[K, T]) makeFree(n int) {
	slab := make([]pending[K, T], n)
	for i := range slab {
		p := &slab[i]
		p.deltas = p.first[:0]
		p.chain, t.free = t.free, p
	}
	t.made += n
}
