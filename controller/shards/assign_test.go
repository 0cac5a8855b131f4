package shards

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestAssign_AMemberThatJoinsTakesItsShareAndMovesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{1,3}-[0-9]{1,3}`)
		members := rapid.SliceOfNDistinct(name, 1, 50, rapid.ID).Draw(t, "members")
		const shards = 1024
		before, after := Assign(shards, members[1:]), Assign(shards, members)
		moved := 0
		for s := range after {
			if after[s] == members[0] {
				moved++
			} else if before[s] != after[s] {
				t.Fatalf("shard %d moved from %s to %s, though %s joined", s, before[s], after[s], members[0])
			}
		}
		fair := float64(shards) / float64(len(members))
		if len(members) > 1 && math.Abs(float64(moved)-fair) > 6*math.Sqrt(fair) {
			t.Fatalf("%d of %d shards moved to one of %d", moved, shards, len(members))
		}
	})
}

func TestAssign_TheOrderOfTheMembersDoesNotMatter(t *testing.T) {
	members := []string{"a", "b", "c", "d"}
	backwards := slices.Clone(members)
	slices.Reverse(backwards)
	assert.Equal(t, Assign(64, members), Assign(64, backwards))
	assert.Nil(t, Assign(64, nil))
}
