// Package folddeltas is exercise 01. Its README says what to do.
package folddeltas

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"glasswatch/deltafifo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type thing struct{ name, version string }

type queue = deltafifo.DeltaFIFO[string, thing]

func newQueue() *queue {
	return deltafifo.NewDeltaFIFO(deltafifo.Options[string, thing]{
		KeyFunc: func(o thing) (string, error) { return o.name, nil },
	})
}

// pop returns the oldest key and what happened to it.
func pop(t *testing.T, q *queue) (key string, story []string) {
	t.Helper()
	require.NotZero(t, q.Len(), "nothing is queued: is the key given to f.newEntryLocked?")
	require.NoError(t, q.Pop(func(k string, ds []deltafifo.Delta[string, thing], _ bool) error {
		key = k
		for _, d := range ds {
			text := d.Type.String() + " " + d.Obj.version
			if d.FinalStateUnknown {
				text += " unknown"
			}
			story = append(story, text)
		}
		return nil
	}))
	return key, story
}

func TestFoldDeltas(t *testing.T) {
	t.Run("1 the changes of a key gather in its list, oldest first", func(t *testing.T) {
		q := newQueue()
		require.NoError(t, q.Add(thing{"a", "1"}))
		require.NoError(t, q.Update(thing{"a", "2"}))
		require.NoError(t, q.Delete(thing{"a", "3"}))
		_, story := pop(t, q)
		require.Equal(t, []string{"Added 1", "Updated 2", "Deleted 3"}, story)
	})
	t.Run("2 a key waits once, at the place of its first change", func(t *testing.T) {
		q := newQueue()
		require.NoError(t, q.Add(thing{"a", "1"}))
		require.NoError(t, q.Add(thing{"b", "1"}))
		require.NoError(t, q.Update(thing{"a", "2"}))
		require.Equal(t, 2, q.Len(), "two keys have changes")
		first, _ := pop(t, q)
		second, _ := pop(t, q)
		require.Equal(t, []string{"a", "b"}, []string{first, second})
	})
	t.Run("3 of two deletions in a row one is left, and it is the one that knows more", func(t *testing.T) {
		q := newQueue()
		require.NoError(t, q.Add(thing{"a", "1"}))
		require.NoError(t, q.DeleteKey("a"))           // inferred: the last state is not known
		require.NoError(t, q.Delete(thing{"a", "2"}))  // seen: this is the last state
		require.NoError(t, q.Replace(nil, nil, "100")) // inferred once more
		require.NoError(t, q.Add(thing{"a", "3"}))
		_, story := pop(t, q)
		require.Equal(t, []string{"Added 1", "Deleted 2", "Added 3"}, story)
	})
	t.Run("4 a consumer that waits in Pop is woken by the first change of a key", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q, popped := newQueue(), false
			go func() {
				err := q.Pop(func(string, []deltafifo.Delta[string, thing], bool) error { popped = true; return nil })
				_ = err // ErrClosed if nobody woke it
			}()
			synctest.Wait() // it sleeps
			require.NoError(t, q.Add(thing{"a", "1"}))
			synctest.Wait()
			woken := popped
			q.Close()
			require.True(t, woken, "Pop sleeps on although there is work: is a new key given to f.newEntryLocked?")
		})
	})
}
