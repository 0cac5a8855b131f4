// Package doneanddirty is exercise 06. Its README says what to do.
package doneanddirty

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"glasswatch/workqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type queue = workqueue.Queue[string]

func newQueue() *queue { return workqueue.New(workqueue.Options[string]{}) }

func get(t *testing.T, q *queue) string {
	t.Helper()
	require.NotZero(t, q.Len(), "the queue is empty")
	item, _ := q.Get()
	return item
}

func TestDoneAndDirty(t *testing.T) {
	t.Run("1 what is done is gone, and can be added again", func(t *testing.T) {
		q := newQueue()
		q.Add("a")
		q.Done(get(t, q))
		require.Zero(t, q.Len())
		require.Zero(t, q.Stats().Processing, "it is in q.processing for ever")
		q.Add("a")
		require.Equal(t, 1, q.Len())
	})
	t.Run("2 what is added while it is processed comes back when it is done, and not before", func(t *testing.T) {
		q := newQueue()
		q.Add("a")
		item := get(t, q)
		q.Add("a")
		require.Zero(t, q.Len(), "two workers would have it")
		q.Done(item)
		require.Equal(t, 1, q.Len(), "the change that came meanwhile is lost")
		require.Equal(t, "a", get(t, q))
	})
	t.Run("3 once, however often it was added", func(t *testing.T) {
		q := newQueue()
		q.Add("a")
		item := get(t, q)
		for range 5 {
			q.Add("a")
		}
		q.Done(item)
		require.Equal(t, 1, q.Len())
		q.Done(get(t, q))
		require.Zero(t, q.Len(), "it was not added since it was taken last")
	})
	t.Run("4 Done for what nobody took does nothing", func(t *testing.T) {
		q := newQueue()
		q.Done("a")
		q.Add("a")
		q.Done("a")
		require.Equal(t, 1, q.Len())
		require.Equal(t, "a", get(t, q))
	})
	t.Run("5 a waiting worker is woken for what comes back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q, taken := newQueue(), ""
			q.Add("a")
			item := get(t, q)
			go func() { taken, _ = q.Get() }()
			q.Add("a")
			synctest.Wait()
			q.Done(item)
			synctest.Wait()
			woken := taken
			q.ShutDown()
			require.Equal(t, "a", woken)
		})
	})
	t.Run("6 a drain ends with the last Done", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			q.Add("a")
			item := get(t, q)
			drained := make(chan struct{})
			go func() { defer close(drained); q.ShutDownWithDrain() }()
			synctest.Wait()
			q.Done(item)
			defer q.ShutDown() // ends a drain without a signal
			select {
			case <-drained:
			case <-time.After(time.Minute):
				require.Fail(t, "the drain waits on: who broadcasts q.idle?")
			}
		})
	})
}
