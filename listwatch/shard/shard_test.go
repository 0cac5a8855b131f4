package shard_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/sharding"
	"pgregory.net/rapid"

	"glasswatch/listwatch/shard"
)

func TestHash_IsTheServers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value")
		require.Equal(t, sharding.HashField(value), fmt.Sprintf("%016x", shard.Hash(value)))
	})
}

// A gap would leave objects without an owner; an overlap would give them two.
func TestOf_ShardsFillTheHashesWithoutGapAndOverlap(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 255, 256, 257, 1000, 1024, math.MaxInt32} {
		require.Zero(t, shard.Of(0, n).First, "%d shards", n)
		require.Equal(t, uint64(math.MaxUint64), shard.Of(n-1, n).Last, "%d shards", n)
		for i := range min(n-1, 1024) {
			this, next := shard.Of(i, n), shard.Of(i+1, n)
			require.Equal(t, this.Last+1, next.First, "shard %d of %d", i, n)
			size := math.MaxUint64 / uint64(n)
			require.LessOrEqual(t, size-(this.Last-this.First), uint64(1), "the size of shard %d of %d", i, n)
			for _, hash := range []uint64{this.First, this.First + size/2, this.Last} {
				require.Equal(t, i, shard.Index(hash, n), "0x%016x in shard %d of %d", hash, i, n)
			}
		}
	}
	assert.Panics(t, func() { shard.Of(5, 4) })
	assert.Panics(t, func() { shard.Of(1, 0) })
}

// The model of Ranges is the list of ranges that were merged.
func TestMerge_ContainsWhatItsPartsContain(t *testing.T) {
	edge := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 12), rapid.Uint64Range(math.MaxUint64-12, math.MaxUint64))
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) shard.Range {
			a, b := edge.Draw(t, "a"), edge.Draw(t, "b")
			return shard.Range{First: min(a, b), Last: max(a, b)}
		}), 0, 6).Draw(t, "parts")
		merged := shard.Merge(parts...)
		for i, r := range merged {
			require.LessOrEqual(t, r.First, r.Last)
			if i > 0 {
				require.Less(t, merged[i-1].Last+1, r.First, "%v: a gap lies between two ranges", merged)
				require.NotEqual(t, uint64(math.MaxUint64), merged[i-1].Last)
			}
		}
		hashes := []uint64{0, math.MaxUint64, edge.Draw(t, "hash")}
		for _, r := range parts {
			hashes = append(hashes, r.First-1, r.First, r.Last, r.Last+1)
		}
		for _, hash := range hashes {
			want := false
			for _, r := range parts {
				want = want || r.First <= hash && hash <= r.Last
			}
			require.Equal(t, want, merged.Contains(hash), "0x%x in %v", hash, parts)
		}
	})
}

func ExampleMerge() {
	held := shard.Merge(shard.Of(0, 4), shard.Of(3, 4), shard.Of(1, 4))
	fmt.Println(shard.Selector{Field: shard.Namespace, Ranges: held})
	hash := shard.Hash("shop")
	fmt.Println(shard.Index(hash, 4), held.Contains(hash))
	// Output:
	// shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000') || shardRange(object.metadata.namespace, '0xc000000000000000', '0x10000000000000000')
	// 1 true
}
