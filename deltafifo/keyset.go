package deltafifo

import "hash/maphash"

// keySet finds the first key that repeats in a stretch of deltas. It is a hash table that is emptied by counting a
// generation on, and that holds places of keys instead of keys: nothing to clear between batches, nothing that keeps an
// object or a key alive, nothing allocated once it has its size.
type keySet[K comparable] struct {
	seed maphash.Seed
	// slots has a power-of-two length, at least twice the greatest number of keys since it was made.
	// Invariant: a slot is in use exactly if its generation is the set's.
	slots      []keySlot
	generation uint32
}

type keySlot struct {
	generation uint32
	hash       uint32
	place      uint32
}

func newKeySet[K comparable]() keySet[K] { return keySet[K]{seed: maphash.MakeSeed()} }

// reset empties the set and makes room for n keys.
func (s *keySet[K]) reset(n int) {
	if 2*n > len(s.slots) {
		size := 16
		for size < 2*n {
			size *= 2
		}
		s.slots, s.generation = make([]keySlot, size), 0
	}
	s.generation++
	if s.generation == 0 {
		// The counter went round: slots of long ago would count as in use.
		clear(s.slots)
		s.generation = 1
	}
}

// addKey adds the key of ds[i]; it returns false if the key of an earlier delta of ds is the same.
func addKey[K comparable, T any](s *keySet[K], ds []Delta[K, T], i int) bool {
	h := maphash.Comparable(s.seed, ds[i].Key)
	mask := uint64(len(s.slots) - 1)
	// The slot comes from the low bits, what is remembered from the high ones: keys that meet in a slot still differ.
	hash := uint32(h >> 32)
	for at := h & mask; ; at = (at + 1) & mask {
		slot := &s.slots[at]
		if slot.generation != s.generation {
			*slot = keySlot{generation: s.generation, hash: hash, place: uint32(i)}
			return true
		}
		if slot.hash == hash && ds[slot.place].Key == ds[i].Key {
			return false
		}
	}
}
