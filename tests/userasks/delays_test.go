package userasks

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

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
	pass(d)
	q.ShutDown()
	synctest.Wait()
	return came
}

// Something is to be looked at again in a second (RequeueAfter), and before that second is over it changes. Nobody takes it
// until two seconds are over.
func TestAnItemThatIsDueTwiceBeforeItIsTakenIsDeliveredOnce(t *testing.T) {
	dueTwice := func(q queue) []float64 {
		q.AddAfter("x", time.Second)
		q.Add("x")
		pass(2 * time.Second)
		return times(q, time.Hour)
	}
	clientGo(t, func(t *testing.T) {
		require.Equal(t, []float64{0}, dueTwice(clientgo.NewTypedDelayingQueue[string]()), "client-go has this, too")
	})
	glasswatch(t, func(t *testing.T) {
		require.Equal(t, []float64{0}, dueTwice(workqueue.NewDelaying(workqueue.Options[string]{})))
	})
}

// The same with a worker at hand: the change is dealt with at once, and the wake-up a second later comes all the same. For
// most that is right (whoever asked for it counts on it), for some it is a second reconcile for nothing. It is their choice.
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

// Something is to be looked at in an hour, and is deleted: there will be nothing to look at.
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
