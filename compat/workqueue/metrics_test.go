package workqueue

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
)

var histories = []string{"depth", "adds", "latency", "work", "retries"}

// TestMetrics_TellWhatClientGoTells compares every value that the metrics get, in order.
func TestMetrics_TellWhatClientGoTells(t *testing.T) {
	told := map[string]map[string][]string{}
	inBothWorlds(t, func(t *testing.T, w world) {
		l := &ledger{}
		q := w.rateLimiting(w.exponential(time.Second, time.Minute), TypedRateLimitingQueueConfig[string]{
			Name: "q", MetricsProvider: l,
		})
		step := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		q.Add("a")
		q.Add("a")
		q.Add("b")
		step(300 * time.Millisecond)
		expectGet(t, q, "a")
		q.Add("a")
		step(1700 * time.Millisecond)
		require.InDelta(t, 1.7, l.value("q/unfinished"), 0.5)
		require.InDelta(t, 1.7, l.value("q/longest"), 0.5)
		expectGet(t, q, "b")
		step(600 * time.Millisecond)
		require.InDelta(t, 2.9, l.value("q/unfinished"), 1)
		require.InDelta(t, 2.3, l.value("q/longest"), 0.5)
		require.Less(t, l.value("q/longest"), l.value("q/unfinished"))
		q.Done("a")
		q.AddRateLimited("b")
		q.AddRateLimited("b")
		q.AddAfter("c", 0)
		q.Done("b")
		step(700 * time.Millisecond)
		require.Zero(t, l.value("q/unfinished"))
		require.Zero(t, l.value("q/longest"))
		expectGet(t, q, "a")
		expectGet(t, q, "c")
		step(time.Second)
		expectGet(t, q, "b")
		q.Done("a")
		q.Done("b")
		q.Done("c")
		q.ShutDown()
		q.AddAfter("late", time.Second)
		q.Add("late")
		told[w.name] = map[string][]string{}
		for _, h := range histories {
			told[w.name][h] = l.history("q/" + h)
			require.NotEmpty(t, told[w.name][h], h)
		}
	})
	require.Equal(t, told["client-go"], told["glasswatch"])
}

func TestMetrics_WhichOnesAQueueHas(t *testing.T) {
	inBothWorlds(t, func(t *testing.T, w world) {
		l := &ledger{}
		fake := clocktesting.NewFakeClock(time.Now())
		own := w.typed(TypedQueueConfig[string]{})
		delaying := w.delaying(TypedDelayingQueueConfig[string]{MetricsProvider: l})
		for _, q := range []TypedInterface[string]{
			w.typed(TypedQueueConfig[string]{MetricsProvider: l}),
			delaying,
			w.rateLimiting(w.itemBased(), TypedRateLimitingQueueConfig[string]{MetricsProvider: l, Clock: fake}),
			own,
		} {
			defer q.ShutDown()
		}
		require.Empty(t, l.metrics, "a queue without a name has none")

		plain := w.typed(TypedQueueConfig[string]{Name: "plain", MetricsProvider: l})
		plain.ShutDown()
		over := w.delaying(TypedDelayingQueueConfig[string]{Name: "over", MetricsProvider: l, Queue: own})
		over.AddAfter("a", 0)
		over.ShutDown()
		over.AddAfter("late", 0)
		clocked := w.delaying(TypedDelayingQueueConfig[string]{Name: "clocked", MetricsProvider: l, Clock: fake})
		clocked.AddAfter("a", 0)
		clocked.AddAfter("b", time.Second)
		clocked.ShutDown()
		limited := w.rateLimiting(w.itemBased(), TypedRateLimitingQueueConfig[string]{
			Name: "limited", MetricsProvider: l, DelayingQueue: delaying,
		})
		limited.AddRateLimited("a")
		limited.ShutDown()

		require.NotNil(t, l.history("plain/adds"))
		require.Nil(t, l.history("plain/retries"), "without delays there are no retries")
		require.Equal(t, []string{"1"}, l.history("over/retries"))
		require.Nil(t, l.history("over/adds"), "those belong to the queue below")
		require.Equal(t, []string{"1", "2"}, l.history("clocked/retries"))
		require.Equal(t, []string{"1"}, l.history("clocked/adds"))
		require.Nil(t, l.history("limited/adds"), "those belong to the queue below")
	})
}

func TestSetProvider_CountsForNamedQueuesMadeAfterItsFirstCall(t *testing.T) {
	t.Cleanup(func() { global.Store(nil) })
	first, second, own := &ledger{}, &ledger{}, &ledger{}
	before := NewTypedWithConfig(TypedQueueConfig[string]{Name: "before"})
	SetProvider(first)
	SetProvider(second)
	queues := []TypedInterface[string]{
		before,
		NewTyped[string](),
		NewTypedDelayingQueue[string](),
		NewTypedRateLimitingQueue(DefaultTypedItemBasedRateLimiter[string]()),
		NewTypedWithConfig(TypedQueueConfig[string]{Name: "after"}),
		NewTypedWithConfig(TypedQueueConfig[string]{Name: "own", MetricsProvider: own}),
	}
	for _, q := range queues {
		q.Add("a")
		q.ShutDown()
	}
	require.Len(t, first.metrics, 6)
	require.Equal(t, []string{"1"}, first.history("after/adds"))
	require.Empty(t, second.metrics)
	require.Equal(t, []string{"1"}, own.history("own/adds"))
}

// clientGos is the provider that client-go has: it takes one for the life of the process.
var clientGos ledger

func TestSetProvider_IsNotClientGos(t *testing.T) {
	clientgo.SetProvider(&clientGos)
	name := t.Name()
	ours := NewTypedWithConfig(TypedQueueConfig[string]{Name: name + " ours"})
	theirs := clientgo.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Name: name + " theirs"})
	for _, q := range []TypedInterface[string]{ours, theirs} {
		q.Add("a")
		q.ShutDown()
	}
	require.Nil(t, clientGos.history(name+" ours/adds"))
	require.NotEmpty(t, clientGos.history(name+" theirs/adds"))
}

// With -race this checks that calls of one queue's metrics never overlap, for no lock guards the ledger's columns.
func TestMetrics_OfOneQueueAreNeverToldTwoAtOnce(t *testing.T) {
	l := &ledger{}
	q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[int]{Name: "q", MetricsProvider: l})
	const producers, each = 3, 300
	var producing, working sync.WaitGroup
	for p := range producers {
		producing.Go(func() {
			for i := range each {
				q.AddAfter(p*each+i, time.Duration(i%2)*time.Microsecond)
			}
		})
		working.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Done(item)
			}
		})
	}
	producing.Wait()
	q.ShutDownWithDrain()
	working.Wait()
	require.Len(t, l.history("q/retries"), producers*each)
	require.EqualValues(t, len(l.history("q/latency")), l.value("q/adds"))
	require.Zero(t, l.value("q/depth"))
}
