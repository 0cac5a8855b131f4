package shards

import (
	"hash/fnv"
	"slices"
)

// Assign returns which member each shard belongs to: rendezvous hashing. Each pair of a member and a shard has a score,
// and the highest wins. So a member that joins takes shards from all others, and moves no other shard. Those of a
// member that leaves go to all others. The order of the members does not matter. Without members it returns nil.
func Assign(shards int, members []string) []string {
	if len(members) == 0 {
		return nil
	}
	members = slices.Sorted(slices.Values(members)) // so that of equal scores, too, all pick the same
	seeds := make([]uint64, len(members))
	for i, member := range members {
		h := fnv.New64a()
		_, _ = h.Write([]byte(member))
		seeds[i] = h.Sum64()
	}
	owners := make([]string, shards)
	for s := range owners {
		best, top := 0, uint64(0)
		for i, seed := range seeds {
			if score := mix(seed ^ mix(uint64(s))); score > top {
				best, top = i, score
			}
		}
		owners[s] = members[best]
	}
	return owners
}

// mix is the finalizer of SplitMix64. FNV alone spreads names that differ in the last letter badly.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
