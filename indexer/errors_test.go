package indexer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIndexFunction_FailureCostsThatObjectInThatIndexUntilItsNextVersion(t *testing.T) {
	for _, group := range []string{"bad", "panic"} {
		t.Run(group, func(t *testing.T) {
			var s *Store[string, *item]
			var got []string
			s = New(Options[string, *item]{KeyFunc: itemKey, Compare: strings.Compare,
				Indexers: Indexers[*item]{"group": byGroup, "parity": byParity},
				OnError: func(key string, err error) {
					require.True(t, s.writing.TryLock(), "no lock is held: the store can be read, and written")
					s.writing.Unlock()
					stored, ok := s.GetByKey(key)
					require.True(t, ok)
					s.Bookmark(fmt.Sprint(stored.version))
					got = append(got, key+" "+err.Error())
				}})
			require.NoError(t, s.Add(&item{key: "a", version: 1, group: "g"}))
			require.NoError(t, s.Add(&item{key: "a", version: 2, group: group}))
			require.Len(t, got, 1)
			require.Contains(t, got[0], `a index "group": `)
			require.Equal(t, "2", s.ResourceVersion())
			require.Empty(t, s.ListIndexValues("group"), "neither the old place nor a partial result")
			require.Equal(t, []string{"even"}, s.ListIndexValues("parity"))
			require.NoError(t, s.Add(&item{key: "a", version: 3, group: "h"}))
			require.Equal(t, []string{"h"}, s.ListIndexValues("group"))
			checkInvariants(t, s)
		})
	}
}

func TestIndexFunction_MayReadTheStore(t *testing.T) {
	var s *Store[string, *item]
	s = newItems(Indexers[*item]{"first": func(o *item, dst []string) ([]string, error) {
		require.True(t, s.mu.TryRLock(), "GetByKey would wait for ever")
		s.mu.RUnlock()
		_, known := s.GetByKey(o.key)
		return append(dst, fmt.Sprint(!known, s.Len())), nil
	}})
	require.NoError(t, s.Add(&item{key: "a"}))
	require.NoError(t, s.Add(&item{key: "b"}))
	require.Equal(t, []string{"true 0", "true 1"}, s.ListIndexValues("first"))
}

func TestIndexFunction_ValuesThatRepeatFileOnce(t *testing.T) {
	s := newItems(Indexers[*item]{"tags": byTags})
	for _, n := range []int{3, 40} {
		var tags []string
		for i := range n {
			tags = append(tags, fmt.Sprint(i%2))
		}
		require.NoError(t, s.Add(&item{key: fmt.Sprint("k", n), tags: tags}))
		require.Equal(t, fmt.Sprint(0), tags[0], "the function's own slice is left alone")
		require.Equal(t, fmt.Sprint(1), tags[1])
	}
	for _, value := range []string{"0", "1"} {
		keys, err := s.IndexKeys("tags", value)
		require.NoError(t, err)
		require.Equal(t, []string{"k3", "k40"}, keys)
	}
	objs, err := s.Index("tags", &item{tags: []string{"0", "1", "0"}})
	require.NoError(t, err)
	require.Len(t, objs, 2)
	checkInvariants(t, s)
}

func TestReplace_NamesObjectsWithoutAKeyAndKeepsTheRest(t *testing.T) {
	s := newItems(nil)
	err := s.Replace([]*item{{key: "a"}, {}, {key: "b"}, {}}, "7")
	require.ErrorContains(t, err, "object 1 of 4 has no key: no key")
	require.ErrorContains(t, err, "object 3 of 4 has no key: no key")
	require.Equal(t, []string{"a", "b"}, s.ListKeys())
	require.Equal(t, "7", s.ResourceVersion())
}

func TestReads_OfAnUnknownIndexAreErrors(t *testing.T) {
	s := filled(t, 3)
	_, byIndex := s.ByIndex("nope", "x")
	_, indexKeys := s.IndexKeys("nope", "x")
	_, index := s.Index("nope", &item{})
	_, snapshot := s.Snapshot().ByIndex("nope", "x")
	for _, err := range []error{byIndex, indexKeys, index, snapshot, s.RemoveIndexers("group", "nope")} {
		require.EqualError(t, err, `indexer: there is no index "nope"`)
	}
	require.Nil(t, s.ListIndexValues("nope"))
	require.NotNil(t, s.ListIndexValues("group"), "a conflict changes nothing")
	none, err := s.ByIndex("group", "nobody")
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestSnapshot_ZeroValueIsEmpty(t *testing.T) {
	var s Snapshot[string, *item]
	_, err := s.ByIndex("group", "g")
	require.Error(t, err)
	_, ok := s.Get("a")
	require.False(t, ok)
	require.Zero(t, s.Len())
	require.Empty(t, s.ResourceVersion())
	for range s.All() {
		t.Fatal("not empty")
	}
}

func TestStore_KeysMayBeInterfaces(t *testing.T) {
	s := New(Options[any, string]{})
	s.Apply([]Op[any, string]{{Key: 1, Obj: "int"}, {Key: "1", Obj: "string"}}, "")
	require.Panics(t, func() { s.Apply([]Op[any, string]{{Key: 1, Obj: "new"}, {Key: []int{1}}}, "") }, "as in a map")
	got, ok := s.GetByKey(1)
	require.True(t, ok)
	require.Equal(t, "int", got, "and nothing of the transaction is done")
	s.DeleteKey("1") // no lock was left behind
	checkInvariants(t, s)
}
