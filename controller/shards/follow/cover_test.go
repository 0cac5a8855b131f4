package follow

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Each shard is in one part, and no part has too many ranges, whatever it loses. Nor are there more parts than needed:
// two that follow each other do not fit into one.
func TestDivide_WhateverAPartLosesFitsIntoOneSelector(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.SliceOfDistinct(rapid.IntRange(0, 600), rapid.ID).Draw(t, "shards")
		more := rapid.IntRange(0, 600).Draw(t, "a row of")
		for s := range more {
			if !slices.Contains(shards, s) {
				shards = append(shards, s)
			}
		}
		parts := divide(slices.Clone(shards))
		require.ElementsMatch(t, shards, slices.Concat(parts...))
		for i, part := range parts {
			require.LessOrEqual(t, mostRanges(part), MaxRanges)
			if i > 0 {
				require.Greater(t, mostRanges(slices.Concat(parts[i-1], part)), MaxRanges)
			}
		}
	})
}

// mostRanges returns how many ranges can be left of sorted shards: a greedy choice of shards no two of which are
// neighbours.
func mostRanges(shards []int) (n int) {
	last := -2
	for _, s := range shards {
		if s > last+1 {
			n, last = n+1, s
		}
	}
	return n
}
