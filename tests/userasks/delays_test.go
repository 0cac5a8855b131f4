package userasks

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/workqueue"
)

// times works on a queue for a while and returns how many seconds later each item came.
func times(q queue, d time.Duration) (came []float64) {
	began := time.Now()
	go func() {
		for {
			item, shutdown := q.Get()
			if shutdown {
				return
			}
			came = append(came, time.Since(began).Seconds())
			q.Done(item)
		}
	}()
	apiservertest.Pass(d)
	q.ShutDown()
	synctest.Wait()
	return came
}

// An item is to be reconciled again in a second (RequeueAfter), and its object changes before that. No worker takes it
// for two seconds.
func TestAnItemThatIsDueTwiceBeforeItIsTakenIsDeliveredOnce(t *testing.T) {
	dueTwice := func(q queue) []float64 {
		q.AddAfter("x", time.Second)
		q.Add("x")
		apiservertest.Pass(2 * time.Second)
		return times(q, time.Hour)
	}
	clientGo(t, func(t *testing.T) {
		require.Equal(t, []float64{0}, dueTwice(clientgo.NewTypedDelayingQueue[string]()), "client-go has this, too")
	})
	glasswatch(t, func(t *testing.T) {
		require.Equal(t, []float64{0}, dueTwice(workqueue.NewDelaying(workqueue.Options[string]{})))
	})
}

// The same with a free worker: it handles the change at once, and the wake-up still comes a second later. Most
// controllers rely on it; for others it is a needless reconcile. An option decides.
func TestALaterWakeUpIsKeptUnlessMergingWasAskedFor(t *testing.T) {
	wokenLater := func(q queue) []float64 {
		q.AddAfter("x", time.Second)
		q.Add("x")
		return times(q, time.Hour)
	}
	clientGo(t, func(t *testing.T) {
		require.Equal(t, []float64{0, 1}, wokenLater(clientgo.NewTypedDelayingQueue[string]()), "there is no choice")
	})
	glasswatch(t, func(t *testing.T) {
		require.Equal(t, []float64{0, 1}, wokenLater(workqueue.NewDelaying(workqueue.Options[string]{})))
		require.Equal(t, []float64{0}, wokenLater(workqueue.NewDelaying(workqueue.Options[string]{MergeDelayed: true})))
	})
}

// An item is due in an hour, but its object is deleted before, so the wake-up is needless.
func TestADelayedItemCanBeCancelled(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		q := clientgo.NewTypedDelayingQueue[string]()
		_, can := q.(interface{ CancelDelayed(item string) bool })
		require.False(t, can, "no method takes an AddAfter back: a sooner one counts, a later one does not")
		q.AddAfter("deleted", time.Hour)
		q.AddAfter("deleted", 100*time.Hour)
		require.Equal(t, []float64{3600}, times(q, 200*time.Hour))
	})
	glasswatch(t, func(t *testing.T) {
		q := workqueue.NewDelaying(workqueue.Options[string]{})
		q.AddAfter("deleted", time.Hour)
		require.True(t, q.CancelDelayed("deleted"))
		require.False(t, q.CancelDelayed("deleted"))
		require.Empty(t, times(q, 200*time.Hour))
	})
}
