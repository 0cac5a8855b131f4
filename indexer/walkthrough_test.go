package indexer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/indexer"
	"glasswatch/internal/book"
)

// TestWalkthrough tells what the store is for, step by step. Each step goes on where the one before it ended.
func TestWalkthrough(t *testing.T) {
	book.Chapter(t, "4 of 7, indexer: the store", `The store holds the newest known version of each object, so that
		readers need not ask the server. Here it holds Pods, with an index by node.`)
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
		book.Saw(t, "the keys %v, at version %s of the list", store.ListKeys(), store.ResourceVersion())
		book.Why(t, `A reader sees all of the old state or all of the new one, never a mix in which objects are
			missing.`)
	})
	t.Run("2 an index answers which Pods are on a node", func(t *testing.T) {
		require.Equal(t, []string{"a", "b"}, on("n1"))
		require.Equal(t, []string{"n1", "n2"}, store.ListIndexValues("node"))
		book.Saw(t, "on n1: %v, on n2: %v", on("n1"), on("n2"))
		book.Why(t, `Without an index, each such question reads every Pod of the cluster.`)
	})
	t.Run("3 a snapshot is one moment for as long as its reader keeps it", func(t *testing.T) {
		morning = store.Snapshot()
		require.Equal(t, 3, morning.Len())
		book.Saw(t, "a snapshot of %d objects; step 9 looks at it again", morning.Len())
		book.Why(t, `A reader of many objects needs no lock meanwhile, so it does not delay the watch.`)
	})
	t.Run("4 an update files an object under its new value", func(t *testing.T) {
		require.NoError(t, store.Update(&podV{"a", "n2", 2}))
		require.Equal(t, []string{"b"}, on("n1"))
		require.Equal(t, []string{"a", "c"}, on("n2"))
		book.Saw(t, "on n1: %v, on n2: %v", on("n1"), on("n2"))
		book.Why(t, `The store remembers the values of each object. So it finds the old entry without asking the index
			function about the old object.`)
	})
	t.Run("5 a transaction is one step too, and returns the old objects", func(t *testing.T) {
		ops := []indexer.Op[string, *podV]{{Key: "b", Delete: true}, {Key: "d", Obj: &podV{"d", "n3", 1}}}
		store.Apply(ops, "12")
		require.Equal(t, 1, ops[0].Old.version)
		require.False(t, ops[1].Existed)
		require.Equal(t, []string{"a", "c", "d"}, store.ListKeys())
		require.Equal(t, "12", store.ResourceVersion())
		book.Saw(t, "b was deleted (its last version was %d), d was added; the keys are %v",
			ops[0].Old.version, store.ListKeys())
		book.Why(t, `An informer tells handlers of an update with the old and the new object. The write that replaces
			the old object returns it, so nobody else can have changed it in between.`)
	})
	t.Run("6 an object that cannot be indexed is stored all the same", func(t *testing.T) {
		require.NoError(t, store.Update(&podV{"d", "", 2}))
		require.Equal(t, []string{`d: index "node": not on a node`}, failures)
		require.Empty(t, on("n3"))
		d, ok := store.GetByKey("d")
		require.True(t, ok)
		require.Equal(t, 2, d.version)
		book.Saw(t, "the error %q; GetByKey finds d at version %d, the index by node does not", failures[0], d.version)
		book.Why(t, `One object with an unexpected field must not stop the store, nor hide the object from other
			readers.`)
	})
	t.Run("7 the object's next version repairs the index", func(t *testing.T) {
		require.NoError(t, store.Update(&podV{"d", "n1", 3}))
		require.Equal(t, []string{"d"}, on("n1"))
		book.Saw(t, "on n1: %v", on("n1"))
		book.Why(t, `Nobody has to restart anything: each write files its object anew.`)
	})
	t.Run("8 an index can be added to a full store, and removed", func(t *testing.T) {
		require.NoError(t, store.AddIndexers(indexer.Indexers[*podV]{"initial": func(p *podV, dst []string) ([]string, error) {
			return append(dst, p.name[:1]), nil
		}}))
		require.Equal(t, []string{"a", "c", "d"}, store.ListIndexValues("initial"))
		book.Saw(t, "an index by first letter, with the values %v", store.ListIndexValues("initial"))
		require.NoError(t, store.RemoveIndexers("initial"))
		_, err := store.ByIndex("initial", "a")
		require.Error(t, err)
		book.Saw(t, "after its removal a question to it is an error: %v", err)
		book.Why(t, `Several controllers share one store, and a later one may need an index that the first did not.`)
	})
	t.Run("9 the snapshot of step 3 shows what it showed", func(t *testing.T) {
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
		book.Saw(t, "a at version %d, %d Pods on n1, all at version %s of the list", a.version, n, morning.ResourceVersion())
		book.Why(t, `The writer copies what a snapshot shares before it writes there (copy-on-write), so writes and
			reads do not wait for each other.`)
	})
}

type podV struct {
	name, node string
	version    int
}
