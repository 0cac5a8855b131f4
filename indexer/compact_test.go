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
	full, slots, numbers := room(s), s.slots, s.indices[0].numbers
	for i, o := range objs {
		if i%(n/keep) != 0 {
			require.NoError(t, s.Delete(o))
		}
	}
	left := room(s)
	t.Logf("room for %d entries when full, for %d with %d objects of %d left", full, left, s.Len(), n)
	require.Less(t, left, full/250)
	require.False(t, sameMap(slots, s.slots), "a map keeps the memory of its largest size")
	require.False(t, sameMap(numbers, s.indices[0].numbers), "so does that of the values")
	checkInvariants(t, s)
}

func TestUpdate_OfManyValuesToOneGivesTheirMemoryBack(t *testing.T) {
	const n = 5000
	s := New(Options[string, *item]{KeyFunc: itemKey, Indexers: Indexers[*item]{"tags": byTags}})
	for i := range n {
		require.NoError(t, s.Add(&item{key: fmt.Sprint(i), tags: []string{fmt.Sprint("a", i)}}))
	}
	ix := s.indices[0]
	require.Equal(t, n+1, ix.lists.len)
	for i := range n {
		require.NoError(t, s.Update(&item{key: fmt.Sprint(i), tags: []string{"a"}}))
	}
	require.Less(t, s.indices[0].lists.len, n/10)
	checkInvariants(t, s)
}
