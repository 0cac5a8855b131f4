package lens

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"

	ourqueue "glasswatch/compat/workqueue"
	"glasswatch/internal/apiserver/apiservertest"
)

func minutes() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Minute, time.Hour)
}

// fill leaves one key ready, one taken, one for in an hour, and one that was put off twice, for two minutes.
func fill(queue workqueue.TypedRateLimitingInterface[string]) {
	queue.Add("ns/taken")
	_, _ = queue.Get()
	queue.Add("ns/ready")
	queue.AddAfter("ns/later", time.Hour)
	queue.AddRateLimited("ns/failed")
	queue.AddRateLimited("ns/failed")
}

func pageOf(l *Lens, query string) string {
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/debug/informers/"+query, nil))
	return w.Body.String()
}

func TestControllers_TellWhatIsInOurQueueWhenTheLensIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{})
		queue := WatchQueue(l, "c", ourqueue.NewTypedRateLimitingQueue(minutes()))
		defer queue.ShutDown()
		fill(queue)
		apiservertest.Pass(10 * time.Second)
		now := time.Now()
		require.Equal(t, []Controller{{
			Name: "c", QueueLength: 1, Processing: 1, Delayed: 2,
			NextDue: []Delayed{{"ns/failed", now.Add(50 * time.Second), 2}, {"ns/later", now.Add(time.Hour - 10*time.Second), 0}},
		}}, l.Controllers())
		require.Contains(t, pageOf(l, ""), `ns/failed</a> in 50s, put off 2 times`)
		l.RemoveQueue("c")
		require.Empty(t, l.Controllers())
	})
}

// client-go's queue counts what is ready and the retries. That a key was put off for an hour is what the lens was told.
func TestControllers_TellOfClientGosQueueWhatIsVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{On: true})
		queue := WatchQueue(l, "c", workqueue.NewTypedRateLimitingQueue(minutes()))
		defer queue.ShutDown()
		fill(queue)
		synctest.Wait()
		require.Equal(t, []Controller{{Name: "c", QueueLength: 1, Processing: -1, Delayed: -1}}, l.Controllers())
		keys := map[string]Key{}
		for _, k := range l.Keys() {
			keys[k.Key] = k
		}
		require.Equal(t, 2, keys["ns/failed"].Retries)
		require.Zero(t, keys["ns/failed"].Due)
		require.Equal(t, time.Hour, time.Until(keys["ns/later"].Due))
		require.Contains(t, pageOf(l, "?key=ns/later"), "It is delayed, and due in 1h0m0s.")
		require.Contains(t, pageOf(l, "?key=ns/failed"), "put it off 2 times")
		require.Contains(t, pageOf(l, ""), "<td>1<td>not visible<td>not visible")
	})
}

func TestReport_AsksEachQueueOnce(t *testing.T) {
	l := New(Options{})
	asked := 0
	l.AddQueue("c", counting(func() { asked++ }))
	require.Len(t, l.report("").Controllers, 1)
	require.Equal(t, 1, asked)
}

type counting func()

func (c counting) Len() int { c(); return 0 }

// A key that was put off, came, and was put off again before it was taken is due when the second delay ends.
func TestDelayed_AgainAfterItCameHasTheNewTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{On: true, PerKey: 8})
		queue := WatchQueue(l, "c", workqueue.NewTypedRateLimitingQueue(minutes()))
		defer queue.ShutDown()
		queue.AddAfter("k", time.Minute)
		apiservertest.Pass(2 * time.Minute)
		queue.AddAfter("k", time.Hour)
		require.Equal(t, time.Hour, time.Until(l.Keys()[0].Due))
		for range 10 {
			queue.Add("k")
		}
		require.Equal(t, time.Hour, time.Until(l.Keys()[0].Due), "other causes do not push it out")
		require.Len(t, l.Keys()[0].Pending, 8)
		_, _ = queue.Get()
		queue.Done("k")
		require.Equal(t, time.Hour, time.Until(l.Keys()[0].Due), "nor does a reconcile meanwhile")
	})
}
