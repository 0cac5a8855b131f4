package indexer

import (
	"fmt"
	"runtime"
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
	before := heap()
	require.NoError(t, s.Replace(objs, ""))
	full := heap() - before
	for i, o := range objs {
		if i%(n/keep) != 0 {
			require.NoError(t, s.Delete(o))
		}
	}
	left := heap() - before
	t.Logf("full %d bytes, %d objects of %d left: %d bytes", full, s.Len(), n, left)
	require.Less(t, left, full/250)
	checkInvariants(t, s)
	runtime.KeepAlive(objs)
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
