// Package takeasnapshot is exercise 04. Its README says what to do.
package takeasnapshot

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"glasswatch/indexer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pod is named after its key and runs on a node.
type pod struct{ name, node string }

type store = indexer.Store[string, pod]

// newStore has web-0 to web-2 on blue, at version 7.
func newStore() *store {
	s := indexer.New(indexer.Options[string, pod]{
		KeyFunc:  func(p pod) (string, error) { return p.name, nil },
		Indexers: indexer.Indexers[pod]{"node": func(p pod, dst []string) ([]string, error) { return append(dst, p.node), nil }},
	})
	ops := []indexer.Op[string, pod]{}
	for _, name := range []string{"web-0", "web-1", "web-2"} {
		ops = append(ops, indexer.Op[string, pod]{Key: name, Obj: pod{name, "blue"}})
	}
	s.Apply(ops, "7")
	return s
}

// change updates, deletes and adds.
func change(s *store) {
	s.Apply([]indexer.Op[string, pod]{
		{Key: "web-0", Obj: pod{"web-0", "green"}},
		{Key: "web-1", Delete: true},
		{Key: "web-9", Obj: pod{"web-9", "blue"}},
	}, "8")
}

// show tells what a snapshot has: everything, and what its index has under blue.
func show(t *testing.T, s indexer.Snapshot[string, pod]) string {
	t.Helper()
	var all, blue []string
	for _, p := range s.All() {
		all = append(all, p.name+" on "+p.node)
	}
	seq, err := s.ByIndex("node", "blue")
	require.NoError(t, err, "the snapshot has the index")
	for key := range seq {
		blue = append(blue, key)
	}
	slices.Sort(all)
	slices.Sort(blue)
	return fmt.Sprintf("%d at %s: %s; blue: %s", s.Len(), s.ResourceVersion(), strings.Join(all, ", "), strings.Join(blue, ", "))
}

const (
	before = "3 at 7: web-0 on blue, web-1 on blue, web-2 on blue; blue: web-0, web-1, web-2"
	after  = "3 at 8: web-0 on green, web-2 on blue, web-9 on blue; blue: web-2, web-9"
)

func TestTakeASnapshot(t *testing.T) {
	t.Run("1 a snapshot has what the store has", func(t *testing.T) {
		require.Equal(t, before, show(t, newStore().Snapshot()))
	})
	t.Run("2 what is written later does not show in it", func(t *testing.T) {
		s := newStore()
		snapshot := s.Snapshot()
		change(s)
		require.Equal(t, before, show(t, snapshot), "the writer wrote into chunks that the snapshot shares: how does it know of the snapshot?")
	})
	t.Run("3 it shows in the next one", func(t *testing.T) {
		s := newStore()
		s.Snapshot()
		change(s)
		require.Equal(t, after, show(t, s.Snapshot()))
	})
	t.Run("4 a snapshot finds objects by their keys", func(t *testing.T) {
		s := newStore()
		snapshot := s.Snapshot()
		change(s)
		obj, ok := snapshot.Get("web-1")
		require.True(t, ok)
		require.Equal(t, pod{"web-1", "blue"}, obj)
		_, ok = snapshot.Get("web-9")
		require.False(t, ok)
	})
	t.Run("5 as long as nobody writes, the next snapshot is the same one", func(t *testing.T) {
		s := newStore()
		s.Snapshot()
		allocations := testing.AllocsPerRun(100, func() { s.Snapshot() })
		require.Zero(t, allocations, "each one is made anew")
	})
	t.Run("6 a writer copies what a snapshot shares once, and not at each write", func(t *testing.T) {
		s := newStore()
		snapshot := s.Snapshot()
		allocations := testing.AllocsPerRun(100, func() { _ = s.Add(pod{"web-0", "green"}) })
		require.Zero(t, allocations, "its own copies look shared, too")
		require.Equal(t, before, show(t, snapshot))
	})
	t.Run("7 many snapshots, each with its moment", func(t *testing.T) {
		s := newStore()
		var snapshots []indexer.Snapshot[string, pod]
		for i := range 20 {
			require.NoError(t, s.Add(pod{"web-0", fmt.Sprint(i)}))
			snapshots = append(snapshots, s.Snapshot())
		}
		for i, snapshot := range snapshots {
			obj, _ := snapshot.Get("web-0")
			require.Equal(t, fmt.Sprint(i), obj.node)
		}
	})
}
