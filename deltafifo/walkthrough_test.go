package deltafifo

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

// TestWalkthrough tells the layer's story, one step after another: run it with -v and read along.
func TestWalkthrough(t *testing.T) {
	store := newStoreModel()
	perKey := newFIFO(store)
	inOrder := NewInOrder(Options[string, *thing]{KeyFunc: nameOf, Transform: transform, KeysMayRepeat: true}) // as informers have it
	both := func(do func(p producer) error) {
		t.Helper()
		assert.NoError(t, do(perKey))
		assert.NoError(t, do(inOrder))
	}
	// popped shows what the two queues make of what was written, and empties them.
	popped := func(t *testing.T, wantPerKey, wantInOrder []string) {
		t.Helper()
		gotPerKey, gotInOrder := drain(t, perKey, store), batches(t, inOrder)
		for _, line := range gotPerKey {
			t.Logf("per key:  %s", line)
		}
		for _, line := range gotInOrder {
			t.Logf("in order: %s", line)
		}
		assert.Equal(t, wantPerKey, gotPerKey)
		assert.Equal(t, wantInOrder, gotInOrder)
	}

	t.Run("1 the first list: a delta a key, or one event", func(t *testing.T) {
		both(func(p producer) error { return p.Replace([]*thing{v("a", 1), v("b", 2)}, nil, "2") })
		assert.False(t, perKey.HasSynced() || inOrder.HasSynced(), "listed is not processed")
		popped(t,
			[]string{"Replaced a(a@1) [initial]", "Replaced b(b@2) [initial]"},
			[]string{"ReplacedAll (-) {2 [{a a@1 false} {b b@2 false}]} [initial]"})
		assert.True(t, perKey.HasSynced() && inOrder.HasSynced())
	})
	t.Run("2 the watch: changes gather per key, or stay as they came", func(t *testing.T) {
		both(func(p producer) error {
			p.Update(v("a", 3))
			p.Update(v("b", 4))
			return p.Update(v("a", 5))
		})
		popped(t,
			[]string{"Updated a(a@3) Updated a(a@5)", "Updated b(b@4)"},
			[]string{"Updated a(a@3) Updated b(b@4) Updated a(a@5)"})
	})
	t.Run("3 a deletion carries the object as it was when it went", func(t *testing.T) {
		both(func(p producer) error { return p.Delete(v("b", 6)) })
		popped(t, []string{"Deleted b(b@6)"}, []string{"Deleted b(b@6)"})
	})
	t.Run("4 a relist: what it lacks becomes a tombstone, or is for the consumer to see", func(t *testing.T) {
		both(func(p producer) error { return p.Replace([]*thing{v("c", 8)}, nil, "9") })
		popped(t,
			[]string{"Replaced c(c@8)", "Deleted a(a@5) unknown"},
			[]string{"ReplacedAll (-) {9 [{c c@8 false}]}"})
	})
	t.Run("5 what the server has and nobody can read is kept", func(t *testing.T) {
		both(func(p producer) error { return p.Replace(nil, []string{"c"}, "10") })
		popped(t, []string{}, []string{"ReplacedAll (-) {10 [{c - true}]}"})
		assert.Equal(t, "c@8", store.things["c"].String())
	})
	t.Run("6 a failing transform costs one version", func(t *testing.T) {
		both(func(p producer) error { return p.Update(failing("c", 11)) })
		popped(t, []string{}, []string{})
		both(func(p producer) error { return p.Update(v("c", 12)) })
		popped(t, []string{"Updated c(c@12)"}, []string{"Updated c(c@12)"})
	})
	t.Run("7 a resync shows what the store has once more", func(t *testing.T) {
		both(producer.Resync)
		popped(t, []string{"Sync c(c@12)"}, []string{"SyncAll (-)"})
	})
	t.Run("8 a bookmark has a place in an order only", func(t *testing.T) {
		both(func(p producer) error { return p.Bookmark("20") })
		popped(t, []string{}, []string{"Bookmark (-) {20 []}"})
	})
	t.Run("9 an idle consumer waits, and Close lets it go", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, q := newFIFO(newStoreModel()), newQueue(0)
			waiting := started(func() {
				assert.ErrorIs(t, f.Pop(ignoreDeltas), ErrClosed)
				assert.ErrorIs(t, q.PopBatch(ignoreBatch), ErrClosed)
			})
			assert.True(t, waiting())
			f.Close()
			q.Close()
			assert.False(t, waiting())
		})
	})
}
