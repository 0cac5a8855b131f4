package indexer

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"weak"

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
	for i := range 2000 {
		require.NoError(t, s.Add(&item{key: fmt.Sprint(i), group: "g"}))
	}
	longer := func(o *item, dst []string) ([]string, error) { return append(dst, o.group+o.key), nil }
	require.NoError(t, s.AddIndexers(Indexers[*item]{"longer": longer}))
	require.Equal(t, 2000, len(s.ListIndexValues("longer")))
	s.List() // the latest snapshot shows the index
	ix, err := s.content.index("longer")
	require.NoError(t, err)
	removed := weak.Make(ix)
	ix = nil
	require.NoError(t, s.RemoveIndexers("longer"))
	runtime.GC()
	require.Nil(t, removed.Value(), "something still holds the index")
	_, err = s.ByIndex("longer", "x")
	require.Error(t, err)
	runtime.KeepAlive(s)
}
