package shard

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Field is what of an object is hashed, by the name that selectors use.
type Field string

// The fields that an API server knows.
const (
	UID       Field = "object.metadata.uid"
	Namespace Field = "object.metadata.namespace"
)

// Of returns the field of obj. It is "" for a field that is neither UID nor Namespace.
func (f Field) Of(obj metav1.Object) string {
	switch f {
	case UID:
		return string(obj.GetUID())
	case Namespace:
		return obj.GetNamespace()
	}
	return ""
}

// Hash is FNV-1a with 64 bits. It allocates nothing.
func Hash(value string) uint64 {
	hash := uint64(0xcbf29ce484222325)
	for i := range len(value) {
		hash = (hash ^ uint64(value[i])) * 0x100000001b3
	}
	return hash
}

// Range is the hashes from First to Last. Both belong to it.
type Range struct{ First, Last uint64 }

// Of returns the hashes of the i-th of n shards. It panics unless 0 <= i < n.
func Of(i, n int) Range {
	whole := Range{Last: math.MaxUint64}
	if i > 0 {
		whole.First = start(i, n)
	}
	if i < n-1 {
		whole.Last = start(i+1, n) - 1
	}
	return whole
}

// start is the first hash of the i-th of n shards: i·2⁶⁴/n, rounded up.
func start(i, n int) uint64 {
	quotient, rest := bits.Div64(uint64(i), 0, uint64(n))
	if rest > 0 {
		quotient++
	}
	return quotient
}

// Index returns which of n shards a hash is in.
func Index(hash uint64, n int) int {
	index, _ := bits.Mul64(hash, uint64(n))
	return int(index)
}

// Ranges is a set of hashes. Merge makes one; nil is empty.
//
// Invariant: the ranges ascend, and there is a gap between any two.
type Ranges []Range

// Merge returns the hashes of all ranges. Ranges that touch or overlap become one, so that n shards in a row cost the
// server one comparison.
func Merge(ranges ...Range) Ranges {
	ranges = slices.Clone(ranges)
	slices.SortFunc(ranges, byFirst)
	merged := ranges[:0]
	for _, r := range ranges {
		if n := len(merged); n > 0 && (merged[n-1].Last == math.MaxUint64 || r.First <= merged[n-1].Last+1) {
			merged[n-1].Last = max(merged[n-1].Last, r.Last)
		} else {
			merged = append(merged, r)
		}
	}
	return slices.Clip(Ranges(merged))
}

func byFirst(a, b Range) int { return cmp.Compare(a.First, b.First) }

// Contains reports whether hash is in one of the ranges.
func (rs Ranges) Contains(hash uint64) bool {
	_, found := slices.BinarySearchFunc(rs, hash, func(r Range, hash uint64) int {
		switch {
		case r.Last < hash:
			return -1
		case r.First > hash:
			return 1
		}
		return 0
	})
	return found
}
