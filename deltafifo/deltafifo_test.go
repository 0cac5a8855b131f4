package deltafifo

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/guard"
)

func TestDeltaFIFO_OnePopHandsOutAllThatHappenedToOneKey(t *testing.T) {
	store := newStoreModel()
	f := newFIFO(store)
	require.NoError(t, f.Add(v("a", 1)))
	require.NoError(t, f.Add(v("b", 1)))
	require.NoError(t, f.Update(v("a", 2)))
	require.NoError(t, f.Delete(v("a", 3)))
	require.NoError(t, f.Add(v("a", 4)))
	assert.Equal(t, 2, f.Len())
	assert.Equal(t, []string{
		"Added a(a@1) Updated a(a@2) Deleted a(a@3) Added a(a@4)",
		"Added b(b@1)",
	}, drain(t, f, store))
}

func TestDeltaFIFO_TwoDeletionsInARowBecomeTheBetterInformedOne(t *testing.T) {
	seen := func(f *fifo) { f.Delete(v("a", 9)) }
	unreadable := func(f *fifo) { f.Delete(failing("a", 9)) }
	relisted := func(f *fifo) { f.Replace(nil, nil, "9") }
	byKey := func(f *fifo) { f.DeleteKey("a") }
	for _, c := range []struct {
		name          string
		first, second func(*fifo)
		want          string
	}{
		{"of two that were seen, the first", seen, func(f *fifo) { f.Delete(v("a", 10)) }, "Deleted a(a@9)"},
		{"seen, then inferred: the first", seen, relisted, "Deleted a(a@9)"},
		{"inferred, then seen: the second", relisted, seen, "Deleted a(a@9)"},
		{"seen, then by key: the first", seen, byKey, "Deleted a(a@9)"},
		{"by key, then seen: the second", byKey, seen, "Deleted a(a@9)"},
		{"seen, then unreadable: the first", seen, unreadable, "Deleted a(a@9)"},
		{"unreadable, then seen: the second", unreadable, seen, "Deleted a(a@9)"},
		{"inferred, then unreadable: the first", relisted, unreadable, "Deleted a(a@1) unknown"},
		{"inferred twice", relisted, byKey, "Deleted a(a@1) unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := storeOf(v("a", 1))
			f := newFIFO(store)
			f.Delete(v("nobody has it", 0)) // no list is the initial one
			c.first(f)
			c.second(f)
			assert.Equal(t, []string{c.want}, drain(t, f, store))
		})
	}
}

func TestDeltaFIFO_DeleteOfWhatNobodyHasIsIgnored(t *testing.T) {
	store := newStoreModel()
	f := newFIFO(store)
	require.NoError(t, f.Delete(v("a", 1)))
	require.NoError(t, f.DeleteKey("a"))
	assert.Zero(t, f.Len())
	assert.True(t, f.HasSynced(), "an event before any list")

	withoutStore := NewDeltaFIFO(Options[string, *thing]{KeyFunc: nameOf})
	require.NoError(t, withoutStore.Delete(v("a", 1)))
	assert.Zero(t, withoutStore.Len())
	require.NoError(t, withoutStore.Add(v("a", 1)))
	require.NoError(t, withoutStore.Delete(v("a", 1)))
	require.NoError(t, withoutStore.Resync())
	assert.Equal(t, []string{"Added a(a@1) Deleted a(a@1)"}, drain(t, withoutStore, store))
}

func TestDeltaFIFO_ReplaceEmitsTombstonesForMissingKeysOfQueueAndStore(t *testing.T) {
	store := storeOf(v("stored", 1), v("both", 1), v("listed", 1), v("kept", 1))
	store.set("lost", nil)
	f := newFIFO(store)
	f.Add(v("queued", 2))
	f.Update(v("both", 2))
	require.NoError(t, f.Replace([]*thing{v("listed", 3), v("fresh", 3)}, []string{"kept"}, "3"))
	assert.Equal(t, []string{
		"Added queued(queued@2) Deleted queued(queued@2) unknown",
		"Updated both(both@2) Deleted both(both@2) unknown",
		"Replaced listed(listed@3)",
		"Replaced fresh(fresh@3)",
		"Deleted stored(stored@1) unknown",
		"Deleted lost(-) missing unknown",
	}, drain(t, f, store))
	assert.Equal(t, []string{"listed", "kept", "fresh"}, store.keys)
}

func TestDeltaFIFO_DeleteKeyCarriesTheNewestVersionAtHand(t *testing.T) {
	store := storeOf(v("a", 1), v("b", 1))
	f := newFIFO(store)
	f.Update(v("a", 2))
	f.DeleteKey("a")
	f.DeleteKey("b")
	assert.Equal(t, []string{
		"Updated a(a@2) Deleted a(a@2) unknown",
		"Deleted b(b@1) unknown",
	}, drain(t, f, store))
}

func TestDeltaFIFO_ResyncSkipsKeysWithPendingDeltas(t *testing.T) {
	store := storeOf(v("a", 1), v("b", 1))
	store.set("lost", nil)
	f := newFIFO(store)
	f.Update(v("a", 2))
	require.NoError(t, f.Resync())
	assert.Equal(t, []string{"Updated a(a@2)", "Sync b(b@1)"}, drain(t, f, store))
	assert.Zero(t, store.things["b"].transformed, "a Sync is not transformed again")
}

func TestDeltaFIFO_BookmarksAreAcceptedAndQueueNothing(t *testing.T) {
	f := newFIFO(newStoreModel())
	require.NoError(t, f.Bookmark("7"))
	assert.Zero(t, f.Len())
	assert.False(t, f.HasSynced())
}

func TestDeltaFIFO_IsSyncedOnceTheLastOfTheFirstListWasProcessed(t *testing.T) {
	store := storeOf(v("old", 1))
	f := newFIFO(store)
	require.False(t, f.HasSynced())
	f.Replace([]*thing{v("a", 2), failing("bad", 2), v("b", 2)}, []string{"kept"}, "2")
	f.Add(v("later", 3))
	f.Replace([]*thing{v("a", 4)}, nil, "4")
	flags := []bool{}
	for f.Len() > 0 {
		require.NoError(t, f.Pop(func(key string, _ []delta, initial bool) error {
			flags = append(flags, initial)
			assert.Equal(t, initial, !f.HasSynced(), "seen from inside the process function of %s", key)
			return nil
		}))
	}
	// a, b and the tombstone of old; what was not readable is not waited for, what came later is not part of it.
	assert.Equal(t, []bool{true, true, true, false}, flags)
	<-f.Synced()
}

func TestDeltaFIFO_AnEmptyFirstListSyncsAtOnce(t *testing.T) {
	f := newFIFO(newStoreModel())
	f.Replace(nil, nil, "1")
	assert.True(t, f.HasSynced())
	<-f.Synced()
}

func TestDeltaFIFO_AFailingTransformCostsThatObjectOnly(t *testing.T) {
	store := storeOf(v("a", 1), v("b", 1))
	reported := map[string]error{}
	f := NewDeltaFIFO(Options[string, *thing]{
		KeyFunc: nameOf, Known: store, Transform: transform,
		OnError: func(key string, err error) { reported[key] = err },
	})
	require.NoError(t, f.Add(failing("new", 2)))
	require.NoError(t, f.Update(failing("a", 2)))
	assert.Zero(t, f.Len(), "the last good version stays")
	require.NoError(t, f.Replace([]*thing{failing("a", 3), v("b", 3)}, nil, "3"))
	require.NoError(t, f.Delete(&thing{name: "a", version: 4, panicking: true}))
	assert.Equal(t, []string{"Replaced b(b@3)", "Deleted a(-) missing"}, drain(t, f, store))
	assert.ErrorContains(t, reported["new"], "cannot transform new@2")
	assert.ErrorIs(t, reported["a"], guard.ErrPanicked)
	assert.ErrorContains(t, reported["a"], "a bug in the transform")
}

func TestDeltaFIFO_AnObjectWithoutAKeyIsAnErrorThatNamesExpectedAndGot(t *testing.T) {
	store := newStoreModel()
	f := newFIFO(store)
	for name, put := range map[string]func(*thing) error{"Add": f.Add, "Update": f.Update, "Delete": f.Delete} {
		err := put(&thing{})
		assert.EqualError(t, err, "deltafifo: expected an object with a key, got *deltafifo.thing: it has no name", name)
		assert.ErrorIs(t, err, errNoName)
	}
	assert.False(t, f.HasSynced(), "nothing came")
	err := f.Replace([]*thing{{version: 1}, v("a", 1), nil}, nil, "1")
	assert.ErrorIs(t, err, errNoName)
	assert.ErrorIs(t, err, guard.ErrPanicked, "the key of a nil pointer")
	assert.Equal(t, []string{"Replaced a(a@1) [initial]"}, drain(t, f, store))
	assert.True(t, f.HasSynced(), "a bad object does not block the sync")
}

func TestDeltaFIFO_PopReturnsTheErrorOfProcessAndTheKeyIsGone(t *testing.T) {
	f := newFIFO(newStoreModel())
	f.Add(v("a", 1))
	failure := errors.New("no")
	assert.Equal(t, failure, f.Pop(func(string, []delta, bool) error { return failure }))
	assert.Zero(t, f.Len())
}

func TestDeltaFIFO_ClosedIsDrainedBeforeErrClosed(t *testing.T) {
	f := newFIFO(newStoreModel())
	f.Add(v("a", 1))
	f.Close()
	f.Close()
	f.Add(v("b", 1))
	assert.NoError(t, f.Pop(ignoreDeltas))
	assert.NoError(t, f.Pop(ignoreDeltas))
	assert.ErrorIs(t, f.Pop(ignoreDeltas), ErrClosed)
}

func TestNew_PanicsWithoutAKeyFunc(t *testing.T) {
	assert.Panics(t, func() { NewDeltaFIFO(Options[string, *thing]{}) })
	assert.Panics(t, func() { NewInOrder(Options[string, *thing]{}) })
}

func TestDeltaType_NamesItself(t *testing.T) {
	want := []string{"DeltaType(0)", "Added", "Updated", "Deleted", "Replaced", "Sync", "ReplacedAll", "SyncAll", "Bookmark", "DeltaType(9)"}
	for i, name := range want {
		assert.Equal(t, name, DeltaType(i).String())
	}
}
