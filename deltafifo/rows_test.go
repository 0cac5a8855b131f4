package deltafifo

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPop_SaysOfEachEntryWhetherItIsOfTheInitialList(t *testing.T) {
	f := newFIFO(storeOf())
	require.NoError(t, f.Replace([]*thing{v("a", 1), v("b", 1)}, nil, "1"))
	require.NoError(t, f.Add(v("c", 2)))
	for _, want := range []bool{true, true, false} {
		require.NoError(t, f.Pop(func(_ string, _ []delta, initial bool) error {
			assert.Equal(t, want, initial)
			return nil
		}))
	}
	q := newQueue(0)
	require.NoError(t, q.Replace([]*thing{v("a", 1), v("b", 1)}, nil, "1"))
	require.NoError(t, q.Add(v("c", 2)))
	for _, want := range []bool{true, false} {
		require.NoError(t, q.Pop(func(_ delta, initial bool) error {
			assert.Equal(t, want, initial)
			return nil
		}))
	}
}

func TestInOrder_ABatchHasAtMost1000KeysOnceEachAndStopsAtTheEndOfTheInitialList(t *testing.T) {
	q := newQueue(0)
	require.NoError(t, q.Replace([]*thing{v("a", 1)}, nil, "1"))
	for n := range 1001 {
		require.NoError(t, q.Add(v(fmt.Sprint("k", n), n)))
	}
	require.NoError(t, q.Add(v("k1000", 2000)))
	for _, want := range []struct {
		len     int
		initial bool
	}{{1, true}, {1000, false}, {1, false}, {1, false}} {
		require.NoError(t, q.PopBatch(func(batch []delta, initial bool) error {
			assert.Len(t, batch, want.len)
			assert.Equal(t, want.initial, initial)
			keys := map[string]bool{}
			for _, d := range batch {
				assert.False(t, keys[d.Key])
				keys[d.Key] = true
			}
			return nil
		}))
	}
	require.Zero(t, q.Len())
}

func TestTransform_RunsOncePerObject(t *testing.T) {
	fill := func(q interface {
		Add(*thing) error
		Update(*thing) error
		Delete(*thing) error
		Replace([]*thing, []string, string) error
		Resync() error
	}) []*thing {
		things := []*thing{v("a", 1), v("b", 1), v("a", 2), v("a", 3), v("b", 4), v("a", 5)}
		require.NoError(t, q.Replace(things[:2], nil, "1"))
		require.NoError(t, q.Update(things[2]))
		require.NoError(t, q.Delete(things[3]))
		require.NoError(t, q.Resync())
		require.NoError(t, q.Replace(things[4:5], nil, "4"))
		require.NoError(t, q.Add(things[5]))
		return things
	}
	f, q := newFIFO(storeOf(v("z", 1))), newQueue(0)
	things := append(fill(f), fill(q)...)
	for f.Len() > 0 {
		require.NoError(t, f.Pop(func(string, []delta, bool) error { return nil }))
	}
	for q.Len() > 0 {
		require.NoError(t, q.PopBatch(ignoreBatch))
	}
	for _, o := range things {
		assert.Equal(t, 1, o.transformed, o)
	}
}

// A reflector passes on the zero key for an item of a list whose name cannot be read.
func TestReplace_AZeroKeyAmongTheKeptOnesIsNoObject(t *testing.T) {
	store := storeOf(v("a", 1), v("b", 1))
	f := newFIFO(store)
	require.NoError(t, f.Replace([]*thing{v("a", 2)}, []string{""}, "2"))
	require.Equal(t, 2, f.Len())
	assert.Equal(t, []string{"Replaced a(a@2) [initial]", "Deleted b(b@1) unknown [initial]"}, drain(t, f, store))
	require.True(t, f.HasSynced())
	require.NoError(t, f.Resync())
	assert.Equal(t, []string{"Sync a(a@2)"}, drain(t, f, store))

	q := newQueue(0)
	require.NoError(t, q.Replace([]*thing{v("a", 2)}, []string{""}, "2"))
	require.NoError(t, q.Pop(func(d delta, _ bool) error {
		require.Len(t, d.Bulk.Items, 2)
		assert.Equal(t, Item[string, *thing]{Keep: true}, d.Bulk.Items[1]) // the store has nothing under the zero key to keep
		return nil
	}))
	require.True(t, q.HasSynced())
	require.Zero(t, q.Len())

	// A list of such items only ends the initial list, too.
	f, q = newFIFO(storeOf()), newQueue(0)
	require.NoError(t, f.Replace(nil, []string{""}, "1"))
	require.True(t, f.HasSynced())
	require.Zero(t, f.Len())
	require.NoError(t, q.Replace(nil, []string{""}, "1"))
	batches(t, q)
	require.True(t, q.HasSynced())
}
