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
	members, seeds := seeded(members)
	owners := make([]string, shards)
	for s := range owners {
		owners[s] = members[highest(seeds, mix(uint64(s)))]
	}
	return owners
}

// chosen reports whether member is the one of members to do a chore that concerns name.
func chosen(member, name string, members []string) bool {
	members, seeds := seeded(members)
	return len(members) > 0 && members[highest(seeds, hash(name))] == member
}

// seeded sorts the members, so that of equal scores, too, all pick the same, and hashes them.
func seeded(members []string) (sorted []string, seeds []uint64) {
	sorted = slices.Sorted(slices.Values(members))
	for _, member := range sorted {
		seeds = append(seeds, hash(member))
	}
	return sorted, seeds
}

// highest returns the place of the seed that has the highest score with key.
func highest(seeds []uint64, key uint64) int {
	best, top := 0, uint64(0)
	for i, seed := range seeds {
		if score := mix(seed ^ key); score > top {
			best, top = i, score
		}
	}
	return best
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}

// mix is the finalizer of SplitMix64. FNV alone spreads names that differ in the last letter badly.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// overlap reports whether shard i of n and shard j of m, as equal parts of one range, have anything in common. Where
// the range does not divide evenly it may say so of neighbours, too.
func overlap(i, n, j, m int) bool { return i*m < (j+1)*n && j*n < (i+1)*m }
