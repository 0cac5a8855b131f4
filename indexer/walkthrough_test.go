package indexer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/indexer"
)

// TestWalkthrough tells what the store is for, step by step. Each step goes on where the one before it ended.
func TestWalkthrough(t *testing.T) {
	var failures []string
	byNode := func(p *podV, dst []string) ([]string, error) {
		if p.node == "" {
			return nil, errors.New("not on a node")
		}
		return append(dst, p.node), nil
	}
	store := indexer.New(indexer.Options[string, *podV]{
		KeyFunc:  func(p *podV) (string, error) { return p.name, nil },
		Compare:  strings.Compare,
		Indexers: indexer.Indexers[*podV]{"node": byNode},
		OnError:  func(key string, err error) { failures = append(failures, key+": "+err.Error()) },
	})
	on := func(node string) []string {
		keys, err := store.IndexKeys("node", node)
		require.NoError(t, err)
		return keys
	}
	var morning indexer.Snapshot[string, *podV]

	t.Run("1 a list fills the store in one step", func(t *testing.T) {
		require.NoError(t, store.Replace([]*podV{{"a", "n1", 1}, {"b", "n1", 1}, {"c", "n2", 1}}, "10"))
		require.Equal(t, 3, store.Len())
		require.Equal(t, "10", store.ResourceVersion())
	})
	t.Run("2 an index answers who is where", func(t *testing.T) {
		require.Equal(t, []string{"a", "b"}, on("n1"))
		require.Equal(t, []string{"n1", "n2"}, store.ListIndexValues("node"))
	})
	t.Run("3 a snapshot keeps the moment", func(t *testing.T) {
		morning = store.Snapshot()
		require.Equal(t, 3, morning.Len())
	})
	t.Run("4 an update moves an object from value to value", func(t *testing.T) {
		require.NoError(t, store.Update(&podV{"a", "n2", 2}))
		require.Equal(t, []string{"b"}, on("n1"))
		require.Equal(t, []string{"a", "c"}, on("n2"))
	})
	t.Run("5 a transaction is one step too and says what was there", func(t *testing.T) {
		ops := []indexer.Op[string, *podV]{{Key: "b", Delete: true}, {Key: "d", Obj: &podV{"d", "n3", 1}}}
		store.Apply(ops, "12")
		require.Equal(t, 1, ops[0].Old.version)
		require.False(t, ops[1].Existed)
		require.Equal(t, []string{"a", "c", "d"}, store.ListKeys())
		require.Equal(t, "12", store.ResourceVersion())
	})
	t.Run("6 an object that cannot be indexed is stored all the same", func(t *testing.T) {
		require.NoError(t, store.Update(&podV{"d", "", 2}))
		require.Equal(t, []string{`d: index "node": not on a node`}, failures)
		require.Empty(t, on("n3"))
		d, ok := store.GetByKey("d")
		require.True(t, ok)
		require.Equal(t, 2, d.version)
	})
	t.Run("7 its next version heals the index", func(t *testing.T) {
		require.NoError(t, store.Update(&podV{"d", "n1", 3}))
		require.Equal(t, []string{"d"}, on("n1"))
	})
	t.Run("8 indices come and go while the store is full", func(t *testing.T) {
		require.NoError(t, store.AddIndexers(indexer.Indexers[*podV]{"initial": func(p *podV, dst []string) ([]string, error) {
			return append(dst, p.name[:1]), nil
		}}))
		require.Equal(t, []string{"a", "c", "d"}, store.ListIndexValues("initial"))
		require.NoError(t, store.RemoveIndexers("initial"))
		_, err := store.ByIndex("initial", "a")
		require.Error(t, err)
	})
	t.Run("9 the snapshot has not moved", func(t *testing.T) {
		a, _ := morning.Get("a")
		require.Equal(t, 1, a.version)
		require.Equal(t, "10", morning.ResourceVersion())
		seq, err := morning.ByIndex("node", "n1")
		require.NoError(t, err)
		n := 0
		for _, p := range seq {
			require.Equal(t, 1, p.version)
			n++
		}
		require.Equal(t, 2, n)
	})
}

type podV struct {
	name, node string
	version    int
}
