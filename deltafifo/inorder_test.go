package deltafifo

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/guard"
)

func TestInOrder_EveryEventComesInArrivalOrder(t *testing.T) {
	q := newQueue(0)
	q.Add(v("a", 1))
	q.Update(v("a", 2))
	q.Delete(v("never-seen", 3))
	q.DeleteKey("a")
	events := []string{}
	for q.Len() > 0 {
		require.NoError(t, q.Pop(func(d delta, _ bool) error {
			events = append(events, show([]delta{d}))
			return nil
		}))
	}
	assert.Equal(t, []string{
		"Added a(a@1)", "Updated a(a@2)", "Deleted never-seen(never-seen@3)", "Deleted a(-) missing unknown",
	}, events)
}

func TestInOrder_ABatchEndsBeforeASecondEventOfOneKey(t *testing.T) {
	q := newQueue(0)
	for i, name := range []string{"a", "b", "a", "c", "c"} {
		q.Update(v(name, i))
	}
	assert.Equal(t, []string{
		"Updated a(a@0) Updated b(b@1)",
		"Updated a(a@2) Updated c(c@3)",
		"Updated c(c@4)",
	}, batches(t, q))
}

func TestInOrder_ABatchHasAtMostBatchSizeEvents(t *testing.T) {
	for size, want := range map[int][]int{0: {1000, 1000, 500}, 7: nil} {
		q := newQueue(size)
		for i := range 2500 {
			q.Add(v(fmt.Sprint(i), 1))
		}
		if size == 7 {
			for range 2500 / 7 {
				want = append(want, 7)
			}
			want = append(want, 1)
		}
		got := []int{}
		for q.Len() > 0 {
			q.PopBatch(func(ds []delta, _ bool) error { got = append(got, len(ds)); return nil })
		}
		assert.Equal(t, want, got)
	}
}

func TestInOrder_BulkDeltasComeAlone(t *testing.T) {
	q := newQueue(0)
	q.Add(v("a", 1))
	q.Resync()
	q.Add(v("b", 1))
	q.Bookmark("5")
	q.Bookmark("6")
	q.Add(v("c", 7))
	q.Replace([]*thing{v("a", 8), v("a", 9)}, []string{"b"}, "9")
	q.Add(v("d", 10))
	assert.Equal(t, []string{
		"Added a(a@1)",
		"SyncAll (-)",
		"Added b(b@1)",
		"Bookmark (-) {5 []}",
		"Bookmark (-) {6 []}",
		"Added c(c@7)",
		"ReplacedAll (-) {9 [{a a@8 false} {a a@9 false} {b - true}]}",
		"Added d(d@10)",
	}, batches(t, q))
}

func TestInOrder_IsSyncedOnceTheFirstListWasProcessed(t *testing.T) {
	q := newQueue(0)
	q.Resync()
	q.Bookmark("1")
	q.Replace([]*thing{v("a", 1)}, nil, "1")
	q.Add(v("b", 2))
	q.Replace(nil, nil, "3")
	require.False(t, q.HasSynced())
	for _, initial := range []bool{true, true, true, false, false} {
		require.NoError(t, q.PopBatch(func(_ []delta, got bool) error {
			assert.Equal(t, initial, got)
			assert.Equal(t, initial, !q.HasSynced(), "seen while the events are processed")
			return nil
		}))
	}
	<-q.Synced()
}

// An event that is being processed when the first list comes is not one of the list's.
func TestInOrder_AnEventInProcessDoesNotCountForTheFirstList(t *testing.T) {
	q := newQueue(0)
	q.Resync()
	q.Pop(func(delta, bool) error { return q.Replace([]*thing{v("a", 1)}, nil, "1") })
	assert.False(t, q.HasSynced())
	q.PopBatch(ignoreBatch)
	assert.True(t, q.HasSynced())
}

func TestInOrder_AnEventBeforeAnyListSyncsAtOnce(t *testing.T) {
	for name, put := range map[string]func(q *queue) error{
		"Add":             func(q *queue) error { return q.Add(v("a", 1)) },
		"Update":          func(q *queue) error { return q.Update(v("a", 1)) },
		"Delete":          func(q *queue) error { return q.Delete(v("a", 1)) },
		"DeleteKey":       func(q *queue) error { return q.DeleteKey("a") },
		"unreadable, too": func(q *queue) error { return q.Add(failing("a", 1)) },
	} {
		q := newQueue(0)
		require.NoError(t, put(q))
		assert.True(t, q.HasSynced(), name)
	}
}

func TestInOrder_AFailingTransformCostsThatObjectOnly(t *testing.T) {
	var reported []error
	q := NewInOrder(Options[string, *thing]{
		KeyFunc: nameOf, Transform: transform,
		OnError: func(_ string, err error) { reported = append(reported, err) },
	})
	require.NoError(t, q.Add(failing("a", 1)))
	require.NoError(t, q.Update(failing("b", 2)))
	require.NoError(t, q.Delete(failing("c", 3)))
	require.NoError(t, q.Replace([]*thing{v("d", 4), {name: "e", version: 5, panicking: true}}, nil, "4"))
	assert.Equal(t, []string{
		"Deleted c(-) missing",
		"ReplacedAll (-) {4 [{d d@4 false} {e - true}]}",
	}, batches(t, q))
	require.Len(t, reported, 4)
	assert.ErrorContains(t, reported[0], "cannot transform a@1")
	assert.ErrorIs(t, reported[3], guard.ErrPanicked)
}

func TestInOrder_AnObjectWithoutAKeyIsAnError(t *testing.T) {
	q := newQueue(0)
	for name, put := range map[string]func(*thing) error{"Add": q.Add, "Update": q.Update, "Delete": q.Delete} {
		assert.ErrorIs(t, put(&thing{}), errNoName, name)
		assert.ErrorIs(t, put(nil), guard.ErrPanicked, name)
	}
	assert.False(t, q.HasSynced())
	err := q.Replace([]*thing{{}, v("a", 1)}, nil, "1")
	assert.EqualError(t, err, "deltafifo: expected an object with a key, got *deltafifo.thing: it has no name")
	assert.Equal(t, []string{"ReplacedAll (-) {1 [{a a@1 false}]} [initial]"}, batches(t, q))
}

func TestInOrder_PopReturnsTheErrorOfProcessAndTheEventsAreGone(t *testing.T) {
	failure := errors.New("no")
	q := newQueue(0)
	q.Add(v("a", 1))
	q.Add(v("b", 1))
	assert.Equal(t, failure, q.PopBatch(func([]delta, bool) error { return failure }))
	q.Add(v("c", 1))
	assert.Equal(t, failure, q.Pop(func(delta, bool) error { return failure }))
	assert.Zero(t, q.Len())
}

func TestInOrder_TakesEventsWhileProcessing(t *testing.T) {
	q := newQueue(0)
	q.Add(v("a", 1))
	require.NoError(t, q.PopBatch(func(ds []delta, _ bool) error {
		for i := range 5000 {
			q.Add(v(fmt.Sprint(i), 1))
		}
		assert.Equal(t, "Added a(a@1)", show(ds), "the batch is not overwritten")
		return nil
	}))
	assert.Equal(t, 5000, q.Len())
}

func TestInOrder_ClosedIsDrainedBeforeErrClosed(t *testing.T) {
	q := newQueue(0)
	q.Add(v("a", 1))
	q.Close()
	q.Close()
	assert.NoError(t, q.PopBatch(ignoreBatch))
	q.Add(v("b", 1))
	assert.NoError(t, q.PopBatch(ignoreBatch))
	assert.ErrorIs(t, q.PopBatch(ignoreBatch), ErrClosed)
	assert.ErrorIs(t, q.Pop(nil), ErrClosed)
}

// A consumer that keeps the slice of a batch and appends to it must not write into the next batch.
func TestInOrder_AppendingToABatchDoesNotTouchTheNext(t *testing.T) {
	q := newQueue(1)
	q.Add(v("a", 1))
	q.Add(v("b", 1))
	q.PopBatch(func(ds []delta, _ bool) error { _ = append(ds, delta{Key: "intruder"}); return nil })
	assert.Equal(t, []string{"Added b(b@1)"}, batches(t, q))
}

func TestInOrder_ABatchOfFailingTransformsIsAnEventAllTheSame(t *testing.T) {
	q := newQueue(10)
	if errs := q.PutAll([]delta{{Type: Added, Obj: &thing{}}}); errs[0] == nil || q.HasSynced() {
		t.Fatalf("an object without a name is no event: %v, synced %v", errs, q.HasSynced())
	}
	if errs := q.PutAll([]delta{{Type: Added, Obj: failing("a", 1)}}); errs != nil || !q.HasSynced() || q.Len() != 0 {
		t.Fatalf("errors %v, synced %v, %d queued", errs, q.HasSynced(), q.Len())
	}
}
