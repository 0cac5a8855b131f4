package indexer

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIndexKeys_AreSorted(t *testing.T) {
	s := newItems(Indexers[*item]{"group": byGroup})
	want := []string{}
	for _, i := range rand.Perm(1000) {
		key := fmt.Sprintf("k%04d", i)
		require.NoError(t, s.Add(&item{key: key, group: "g"}))
		want = append(want, key)
	}
	slices.Sort(want)
	keys, err := s.IndexKeys("group", "g")
	require.NoError(t, err)
	require.Equal(t, want, keys)
}

func TestStore_ResourceVersionIsThatOfTheLastReplaceApplyOrBookmark(t *testing.T) {
	s := newItems(nil)
	require.Empty(t, s.ResourceVersion())
	require.NoError(t, s.Replace([]*item{{key: "a"}}, "5"))
	require.Equal(t, "5", s.ResourceVersion())
	s.Apply([]Op[string, *item]{{Key: "b", Obj: &item{key: "b"}}}, "6")
	require.Equal(t, "6", s.ResourceVersion())
	before := s.Snapshot()
	s.Bookmark("9")
	require.Equal(t, "9", s.ResourceVersion())
	require.Equal(t, "6", before.ResourceVersion(), "of the snapshot's moment")
	require.Equal(t, "9", s.Snapshot().ResourceVersion())
}

func TestStore_ResourceVersionStaysWhereAWriteNamesNone(t *testing.T) {
	s := newItems(nil)
	s.Bookmark("5")
	s.Bookmark("")
	s.Apply(nil, "")
	s.Apply([]Op[string, *item]{{Key: "b", Obj: &item{key: "b"}}}, "")
	require.NoError(t, s.Add(&item{key: "a"}))
	require.Equal(t, "5", s.ResourceVersion())
}

func TestAddIndexers_FilesWhatTheStoreHolds(t *testing.T) {
	s := newItems(nil)
	for i := range 1000 {
		require.NoError(t, s.Add(&item{key: fmt.Sprintf("k%04d", i), group: fmt.Sprint(i % 500)}))
	}
	require.NoError(t, s.AddIndexers(Indexers[*item]{"group": byGroup}))
	keys, err := s.IndexKeys("group", "7")
	require.NoError(t, err)
	require.Equal(t, []string{"k0007", "k0507"}, keys)
}

func TestStore_RemoveIndexersFreesTheirMemory(t *testing.T) {
	s := newItems(nil)
	for i := range 20_000 {
		require.NoError(t, s.Add(&item{key: fmt.Sprint(i), group: strings.Repeat("g", 100) + fmt.Sprint(i)}))
	}
	before := heap()
	longer := func(o *item, dst []string) ([]string, error) { return append(dst, o.group+o.key), nil }
	require.NoError(t, s.AddIndexers(Indexers[*item]{"longer": longer}))
	full := heap() - before
	require.NoError(t, s.RemoveIndexers("longer"))
	left := heap() - before
	t.Logf("the index weighs %d bytes, %d after it was removed", full, left)
	require.Less(t, left, full/20)
	_, err := s.ByIndex("longer", "x")
	require.Error(t, err)
	runtime.KeepAlive(s)
}
