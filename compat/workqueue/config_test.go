package workqueue

import (
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	layer "glasswatch/workqueue"
)

func TestConfig_ClockDecidesWhenDelayedItemsAreDue(t *testing.T) {
	inBothWorlds(t, func(t *testing.T, w world) {
		fake := clocktesting.NewFakeClock(time.Now())
		q := w.rateLimiting(w.exponential(time.Second, time.Hour), TypedRateLimitingQueueConfig[string]{Clock: fake})
		defer q.ShutDown()
		q.AddAfter("hour", time.Hour)
		q.AddAfter("minute", time.Minute)
		q.AddRateLimited("second")
		q.AddAfter("hour", 2*time.Hour)
		q.AddAfter("none", 0)
		expectGet(t, q, "none")
		synctest.Wait()
		<-time.After(24 * time.Hour) // of the wrong time
		expectEmpty(t, q)
		fake.Step(time.Second)
		expectGet(t, q, "second")
		fake.Step(time.Minute)
		expectGet(t, q, "minute")
		expectEmpty(t, q)
		q.AddAfter("hour", time.Second)
		synctest.Wait()
		fake.Step(time.Second)
		expectGet(t, q, "hour")
		fake.Step(24 * time.Hour)
		expectEmpty(t, q)

		q.AddAfter("second", 2*time.Hour)
		q.AddAfter("first", 3*time.Hour)
		q.AddAfter("first", time.Hour)
		synctest.Wait()
		fake.Step(time.Hour)
		expectGet(t, q, "first")
		expectEmpty(t, q)
	})
}

// steppingClock moves on while a timer is being set, once.
type steppingClock struct {
	*clocktesting.FakeClock
	step time.Duration
}

func (c *steppingClock) NewTimer(d time.Duration) clock.Timer {
	c.Step(c.step)
	c.step = 0
	return c.FakeClock.NewTimer(d)
}

func TestConfig_AClockThatMovesWhileATimerIsSetLosesNothing(t *testing.T) {
	for _, step := range []time.Duration{time.Second, 59 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := &steppingClock{FakeClock: clocktesting.NewFakeClock(time.Now())}
			q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[string]{Clock: c})
			defer q.ShutDown()
			q.AddAfter("first", time.Second)
			q.AddAfter("a", time.Minute)
			synctest.Wait()
			c.step = step // in the next timer's way
			c.FakeClock.Step(time.Second)
			expectGet(t, q, "first")
			c.FakeClock.Step(59*time.Second - step)
			expectGet(t, q, "a")
		})
	}
}

func TestConfig_TheRealClockTakesNoLayerBetween(t *testing.T) {
	real := clock.RealClock{}
	for _, c := range []clock.WithTicker{nil, real, &real} {
		q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[string]{Clock: c, Name: "n"})
		require.IsType(t, &layer.DelayingQueue[string]{}, q)
		require.Equal(t, "n", q.(*layer.DelayingQueue[string]).Name())
		q.ShutDown()
		r := NewTypedRateLimitingQueueWithConfig(nil, TypedRateLimitingQueueConfig[string]{Clock: c, Name: "n"})
		require.Equal(t, "n", r.(*layer.RateLimitingQueue[string]).Name())
		r.AddRateLimited("a") // nil is the default limiter
		require.Equal(t, 1, r.NumRequeues("a"))
		r.ShutDown()
	}
}

func TestConfig_QueueIsWhereDelayedItemsGo(t *testing.T) {
	inBothWorlds(t, func(t *testing.T, w world) {
		for _, below := range []world{clientGo, glasswatch} {
			own := below.typed(TypedQueueConfig[string]{Queue: &stack{}})
			delaying := w.delaying(TypedDelayingQueueConfig[string]{Queue: own})
			limiter := w.fastSlow(time.Second, time.Minute, 1)
			q := w.rateLimiting(limiter, TypedRateLimitingQueueConfig[string]{DelayingQueue: delaying})
			q.AddAfter("a", time.Second)
			q.AddAfter("b", 2*time.Second)
			q.AddRateLimited("c")
			<-time.After(3 * time.Second)
			synctest.Wait()
			require.Equal(t, 3, own.Len())
			expectGet(t, own, "b")
			q.Done("b")
			require.Equal(t, 1, q.NumRequeues("c"))
			q.AddRateLimited("c")
			q.Forget("c")
			require.Zero(t, q.NumRequeues("c"))
			q.AddAfter("never", time.Hour)
			q.ShutDown()
			require.True(t, own.ShuttingDown())
			q.AddAfter("never", time.Second)
			require.Equal(t, 2, own.Len())
		}
	})
}

func TestConfig_ADrainOfAnotherQueueLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails if one is left
		fake := clocktesting.NewFakeClock(time.Now())
		q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[string]{Clock: fake})
		q.AddAfter("due", time.Second)
		q.AddAfter("never", time.Hour)
		synctest.Wait()
		q.(*delayingOver[string]).checkInvariants(t)
		fake.SetTime(fake.Now().Add(time.Second))
		synctest.Wait() // the item is due now
		q.ShutDownWithDrain()
		item, _ := q.Get()
		require.Equal(t, "due", item)
		q.Done(item)
		q.ShutDown()
		q.AddAfter("never", time.Second)
		_, shutdown := q.Get()
		require.True(t, shutdown)
	})
}

// lateClock has timers that never go off, since its time is set past the clock that they go by.
type lateClock struct {
	*clocktesting.FakeClock
	ahead time.Duration
}

func (c *lateClock) Now() time.Time { return c.FakeClock.Now().Add(c.ahead) }

func TestConfig_ShutDownKeepsItemsWhoseTimeHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &lateClock{FakeClock: clocktesting.NewFakeClock(time.Now())}
		q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[string]{Clock: c})
		q.AddAfter("due", time.Second)
		q.AddAfter("never", time.Hour)
		synctest.Wait()
		c.ahead = time.Minute
		q.ShutDown()
		expectGet(t, q, "due")
		expectShutdown(t, q)
	})
}

// checkInvariants checks the invariants of q, which must be at rest.
func (q *delayingOver[T]) checkInvariants(t *testing.T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	require.Equal(t, len(q.deadlines), len(q.byItem))
	for i, d := range q.deadlines {
		require.Equal(t, i, d.index)
		require.Same(t, d, q.byItem[d.item])
	}
	require.Equal(t, len(q.deadlines) > 0, q.running)
}

func TestConfig_NoGoroutineRunsWhileNothingIsDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[string]{Queue: NewTyped[string]()})
		for range 3 {
			q.AddAfter("a", time.Second)
			q.(*delayingOver[string]).checkInvariants(t)
			<-time.After(time.Minute)
			synctest.Wait()
			q.(*delayingOver[string]).checkInvariants(t)
			expectGet(t, q, "a")
			q.Done("a")
		}
		// No ShutDown: the bubble would complain of a goroutine.
	})
}

func TestConfig_ManyProducersThroughAnotherQueueLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[int]{Queue: NewTyped[int]()})
		const producers, each = 4, 200
		var wg sync.WaitGroup
		for p := range producers {
			wg.Go(func() {
				for i := range each {
					q.AddAfter(p*each+i, time.Duration(1+i%17)*time.Millisecond)
				}
			})
		}
		wg.Wait()
		seen := map[int]bool{}
		for len(seen) < producers*each {
			item, _ := q.Get()
			require.False(t, seen[item])
			seen[item] = true
			q.Done(item)
		}
		q.ShutDown()
	})
}

// grenade is a queue whose Add panics once.
type grenade struct {
	*Typed[string]
	armed bool
}

func (g *grenade) Add(item string) {
	if g.armed {
		g.armed = false
		panic("boom")
	}
	g.Typed.Add(item)
}

func TestConfig_LoggerIsToldOfAPanicOfTheOtherQueueAndTheDelaysGoOn(t *testing.T) {
	survivePanics(t)
	var mu sync.Mutex
	logged := ""
	logger := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		logged += args
	}, funcr.Options{})
	synctest.Test(t, func(t *testing.T) {
		q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[string]{
			Logger: &logger, Queue: &grenade{Typed: NewTyped[string](), armed: true},
		})
		defer q.ShutDown()
		q.AddAfter("lost", time.Second)
		q.AddAfter("kept", 2*time.Second)
		<-time.After(3 * time.Second)
		mu.Lock()
		require.Contains(t, logged, "boom")
		mu.Unlock()
		q.AddAfter("next", time.Second)
		<-time.After(time.Second)
		expectGet(t, q, "kept")
		expectGet(t, q, "next")
	})
}

// survivePanics makes HandleCrash log only, until the test ends.
func survivePanics(t *testing.T) {
	crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	utilruntime.ReallyCrash = false
	t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers })
}

func TestConfig_TheLongestDelayIsNoDelayThatHasPassed(t *testing.T) {
	inBothWorlds(t, func(t *testing.T, w world) {
		for _, c := range []clock.WithTicker{nil, clocktesting.NewFakeClock(time.Now())} {
			q := w.delaying(TypedDelayingQueueConfig[string]{Clock: c})
			q.AddAfter("a", math.MaxInt64)
			<-time.After(time.Hour)
			expectEmpty(t, q)
			q.ShutDown()
		}
	})
}
