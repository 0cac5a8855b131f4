package deltafifo

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"glasswatch/internal/book"
)

// TestWalkthrough tells the layer's story, one step after another: run it with -v and read along.
func TestWalkthrough(t *testing.T) {
	book.Chapter(t, "3 of 7, deltafifo: the log", `The log holds what changed on the server until its one consumer
		takes it, so that a slow consumer does not stop the watch. Here two kinds get the same calls: the DeltaFIFO,
		which gathers changes per key, and the in-order queue, which informers use by default.`)
	store := newStoreModel()
	perKey := newFIFO(store)
	inOrder := NewInOrder(Options[string, *thing]{KeyFunc: nameOf, Transform: transform, KeysMayRepeat: true}) // as informers have it
	both := func(do func(p producer) error) {
		t.Helper()
		assert.NoError(t, do(perKey))
		assert.NoError(t, do(inOrder))
	}
	// popped prints what the consumer of each queue takes, a line a Pop, and compares it.
	popped := func(t *testing.T, wantPerKey, wantInOrder []string) {
		t.Helper()
		gotPerKey, gotInOrder := drainAs(t, perKey, store, inWords), batchesAs(t, inOrder, inWords)
		assert.Equal(t, wantPerKey, gotPerKey)
		assert.Equal(t, wantInOrder, gotInOrder)
		for _, line := range gotPerKey {
			book.Saw(t, "per key:  %s", line)
		}
		for _, line := range gotInOrder {
			book.Saw(t, "in order: %s", line)
		}
	}

	t.Run("1 the first list is one delta a key, or one event", func(t *testing.T) {
		both(func(p producer) error { return p.Replace([]*thing{v("a", 1), v("b", 2)}, nil, "2") })
		assert.False(t, perKey.HasSynced() || inOrder.HasSynced(), "listed is not processed")
		popped(t,
			[]string{"a is listed at 1 (first list)", "b is listed at 2 (first list)"},
			[]string{"a list at 2 with a at 1, b at 2 (first list)"})
		assert.True(t, perKey.HasSynced() && inOrder.HasSynced())
		book.Why(t, `A controller must not act before it knows everything, so HasSynced becomes true only after the
			consumer has taken the whole first list.`)
	})
	t.Run("2 the changes of a watch gather per key, or stay in order", func(t *testing.T) {
		both(func(p producer) error {
			p.Update(v("a", 3))
			p.Update(v("b", 4))
			return p.Update(v("a", 5))
		})
		popped(t,
			[]string{"a is changed to 3, a is changed to 5", "b is changed to 4"},
			[]string{"a is changed to 3, b is changed to 4, a is changed to 5"})
		book.Why(t, `The DeltaFIFO hands out the second change of a before the change of b. A consumer that compares
			objects of different keys needs the order of the server.`)
	})
	t.Run("3 a deletion carries the last state of the object", func(t *testing.T) {
		both(func(p producer) error { return p.Delete(v("b", 6)) })
		popped(t, []string{"b is deleted, last state 6"}, []string{"b is deleted, last state 6"})
		book.Why(t, `A handler that cleans up after an object often needs more than its name, and the server no longer
			has it.`)
	})
	t.Run("4 a key that a relist lacks was deleted unseen", func(t *testing.T) {
		both(func(p producer) error { return p.Replace([]*thing{v("c", 8)}, nil, "9") })
		popped(t,
			[]string{"c is listed at 8", "a is deleted, last known state 5 (a tombstone: nobody saw it)"},
			[]string{"a list at 9 with c at 8"})
		book.Why(t, `A watch that was down missed deletions. The DeltaFIFO asks the store which keys it has, and makes a
			tombstone of each that the list lacks. The in-order queue leaves this to its consumer, which has the store.`)
	})
	t.Run("5 a key that the server has and nobody can decode is kept", func(t *testing.T) {
		both(func(p producer) error { return p.Replace(nil, []string{"c"}, "10") })
		popped(t, []string{}, []string{"a list at 10 that keeps c"})
		assert.Equal(t, "c@8", store.things["c"].String())
		book.Why(t, `The object exists, so a tombstone would be untrue, and a controller might delete what belongs to
			it. The store keeps its last good version.`)
	})
	t.Run("6 a failing transform costs one version of one object", func(t *testing.T) {
		both(func(p producer) error { return p.Update(failing("c", 11)) })
		popped(t, []string{}, []string{})
		both(func(p producer) error { return p.Update(v("c", 12)) })
		popped(t, []string{"c is changed to 12"}, []string{"c is changed to 12"})
		book.Why(t, `Version 11 could not be transformed and was left out. The queue goes on, and the next version
			repairs the store.`)
	})
	t.Run("7 a resync shows the store's objects once more", func(t *testing.T) {
		both(producer.Resync)
		popped(t, []string{"look at c again, at 12"}, []string{"look at every object again"})
		book.Why(t, `A controller can check its work again at intervals, and the server is not asked.`)
	})
	t.Run("8 only the in-order queue passes a bookmark on", func(t *testing.T) {
		both(func(p producer) error { return p.Bookmark("20") })
		popped(t, []string{}, []string{"a bookmark at 20"})
		book.Why(t, `It says that a reader of all changes before it has the state of version 20. The DeltaFIFO keeps no
			order between keys, so it has no place for one.`)
	})
	t.Run("9 an idle consumer waits until Close", func(t *testing.T) {
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
			book.Saw(t, "Pop and PopBatch wait, and after Close they return ErrClosed")
		})
		book.Why(t, `Waiting costs no processor time. Without Close, a program could not end its consumer.`)
	})
}

// inWords says what a consumer takes in one Pop. A number is a version, of an object or of a list.
func inWords(ds []delta, initial bool) string {
	var parts []string
	for _, d := range ds {
		parts = append(parts, deltaInWords(d))
	}
	text := strings.Join(parts, ", ")
	if initial {
		text += " (first list)"
	}
	return text
}

func deltaInWords(d delta) string {
	switch d.Type {
	case Added, Updated:
		return fmt.Sprintf("%s is changed to %d", d.Key, d.Obj.version)
	case Deleted:
		if d.FinalStateUnknown {
			return fmt.Sprintf("%s is deleted, last known state %d (a tombstone: nobody saw it)", d.Key, d.Obj.version)
		}
		return fmt.Sprintf("%s is deleted, last state %d", d.Key, d.Obj.version)
	case Replaced:
		return fmt.Sprintf("%s is listed at %d", d.Key, d.Obj.version)
	case Sync:
		return fmt.Sprintf("look at %s again, at %d", d.Key, d.Obj.version)
	case ReplacedAll:
		return listInWords(d.Bulk)
	case SyncAll:
		return "look at every object again"
	case Bookmark:
		return "a bookmark at " + d.Bulk.ResourceVersion
	}
	return d.Type.String()
}

func listInWords(list *Bulk[string, *thing]) string {
	var listed, kept []string
	for _, item := range list.Items {
		if item.Keep {
			kept = append(kept, item.Key)
		} else {
			listed = append(listed, fmt.Sprintf("%s at %d", item.Key, item.Obj.version))
		}
	}
	text := "a list at " + list.ResourceVersion
	if len(listed) > 0 {
		text += " with " + strings.Join(listed, ", ")
	}
	if len(kept) > 0 {
		text += " that keeps " + strings.Join(kept, ", ")
	}
	return text
}
