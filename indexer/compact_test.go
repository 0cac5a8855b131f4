package indexer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReplace_OfManyValuesGivesTheirMemoryBack where each object has values of its own.
func TestReplace_OfManyValuesGivesTheirMemoryBack(t *testing.T) {
	const n, keep = 50_000, 64
	s := New(Options[string, *item]{KeyFunc: itemKey, Indexers: Indexers[*item]{"tags": byTags}})
	objs := make([]*item, n)
	for i := range objs {
		objs[i] = &item{key: fmt.Sprint(i), tags: []string{fmt.Sprint("a", i), fmt.Sprint("b", i)}}
	}
	require.NoError(t, s.Replace(objs, ""))
	full, slots, sets := room(s), s.content.slots.entries, s.content.indices[0].sets.entries
	for i, o := range objs {
		if i%(n/keep) != 0 {
			require.NoError(t, s.Delete(o))
		}
	}
	left := room(s)
	t.Logf("room for %d entries when full, for %d with %d objects of %d left", full, left, s.Len(), n)
	const tables = 3 // keys, objects and the sets of each slot
	require.LessOrEqual(t, left, 4*5*s.Len()+tables*chunkLen, "a key, two values and two places in sets for each object; and a chunk of each table")
	require.False(t, sameMap(slots, s.content.slots.entries), "a map keeps the memory of its largest size")
	require.False(t, sameMap(sets, s.content.indices[0].sets.entries), "so does that of the values")
	checkInvariants(t, s)
}

func TestUpdate_OfManyValuesToOneGivesTheirMemoryBack(t *testing.T) {
	const n, each = 500, 40
	s := New(Options[string, *item]{KeyFunc: itemKey, Indexers: Indexers[*item]{"tags": byTags}})
	for i := range n {
		o := &item{key: fmt.Sprint(i)}
		for j := range each {
			o.tags = append(o.tags, fmt.Sprint("a", i, " ", j))
		}
		require.NoError(t, s.Add(o))
	}
	sets, full := s.content.indices[0].sets.entries, room(s)
	require.Len(t, sets, n*each)
	for i := range n {
		require.NoError(t, s.Update(&item{key: fmt.Sprint(i), tags: []string{"a"}}))
	}
	require.Less(t, room(s), full/4)
	require.False(t, sameMap(sets, s.content.indices[0].sets.entries), "a map keeps the memory of its largest size")
	checkInvariants(t, s)
}

// TestUpdate_FromValueToValueGivesTheirMemoryBack where one object stays behind under each value.
func TestUpdate_FromValueToValueGivesTheirMemoryBack(t *testing.T) {
	const n, values = 500, 20
	s := newItems(Indexers[*item]{"group": byGroup})
	for value := range values {
		for i := value; i < n; i++ {
			require.NoError(t, s.Update(&item{key: fmt.Sprint(i), group: fmt.Sprint(value)}))
		}
	}
	require.Len(t, s.ListIndexValues("group"), values)
	peaks := 0
	for _, set := range s.content.indices[0].sets.entries {
		peaks += set.slots.peak
	}
	require.LessOrEqual(t, peaks, 4*2*n, "each object is in a slot and in a set")
	checkInvariants(t, s)
}

// TestApply_ThatAddsAndDeletesInOneTransactionGivesTheMemoryBack although the store is as empty afterwards as before.
func TestApply_ThatAddsAndDeletesInOneTransactionGivesTheMemoryBack(t *testing.T) {
	const n = 5000
	s := newItems(nil)
	slots := s.content.slots.entries
	var ops []Op[string, *item]
	for i := range n {
		ops = append(ops, Op[string, *item]{Key: fmt.Sprint(i), Obj: &item{key: fmt.Sprint(i)}})
	}
	for i := range n {
		ops = append(ops, Op[string, *item]{Key: fmt.Sprint(i), Delete: true})
	}
	s.Apply(ops, "")
	require.Zero(t, s.Len())
	require.False(t, sameMap(slots, s.content.slots.entries), "a map keeps the memory of its largest size")
	require.LessOrEqual(t, roomInMaps(&s.content), 3)
	checkInvariants(t, s)
}

func TestAdd_OfAnObjectWithManyValuesGivesTheMemoryForAnswersBack(t *testing.T) {
	s := newItems(Indexers[*item]{"tags": byTags})
	o := &item{key: "many"}
	for i := range keptAnswers {
		o.tags = append(o.tags, fmt.Sprint(i))
	}
	require.NoError(t, s.Add(o))
	require.Zero(t, s.answers)
}
