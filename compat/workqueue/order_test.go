package workqueue

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"
)

// transcript is what a story saw in one of the two worlds.
type transcript struct {
	world
	lines []string
}

func (c *transcript) write(format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

func (c *transcript) get(q TypedInterface[string]) {
	item, shutdown := q.Get()
	c.write("%q %v", item, shutdown)
}

// try writes down whether f panics, and with what.
func (c *transcript) try(f func()) {
	defer func() { c.write("panic: %v", recover()) }()
	f()
}

// ends writes down whether f returns within a second.
func (c *transcript) ends(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		c.write("it ends")
	case <-time.After(time.Second):
		c.write("it goes on")
	}
}

// badLimiter panics.
type badLimiter struct{}

func (badLimiter) When(string) time.Duration { panic("when") }
func (badLimiter) Forget(string)             { panic("forget") }
func (badLimiter) NumRequeues(string) int    { panic("requeues") }

// unusualCalls are told in both worlds, and must see the same.
var unusualCalls = map[string]func(c *transcript){
	"done again": func(c *transcript) {
		q := c.typed(TypedQueueConfig[string]{})
		q.Done("x")
		q.Add("x")
		c.get(q)
		q.Done("x")
		q.Done("x")
		c.write("%d", q.Len())
		q.Add("x")
		q.ShutDown()
		c.get(q)
		c.get(q)
		q.Done("x")
		q.ShutDown()
	},
	"added in processing before a shutdown": func(c *transcript) {
		q := c.typed(TypedQueueConfig[string]{})
		q.Add("x")
		c.get(q)
		q.Add("x")
		q.ShutDown()
		c.write("%d", q.Len())
		q.Done("x")
		c.write("%d", q.Len())
		c.get(q)
		q.Done("x")
		c.get(q)
	},
	"shut down again": func(c *transcript) {
		q := c.typed(TypedQueueConfig[string]{})
		for _, end := range []func(){q.ShutDownWithDrain, q.ShutDownWithDrain, q.ShutDown, q.ShutDown, q.ShutDownWithDrain} {
			c.ends(end)
		}
		q.Add("late")
		c.write("%d %v", q.Len(), q.ShuttingDown())
		c.get(q)
	},
	"a drain after a shutdown": func(c *transcript) {
		q := c.typed(TypedQueueConfig[string]{})
		q.Add("x")
		c.get(q)
		q.ShutDown()
		c.ends(q.ShutDownWithDrain)
		q.Done("x")
		c.ends(q.ShutDownWithDrain)
	},
	"many wait at shutdown": func(c *transcript) {
		q, got := c.typed(TypedQueueConfig[string]{}), make(chan bool, 5)
		for range cap(got) {
			go func() {
				_, shutdown := q.Get()
				got <- shutdown
			}()
		}
		synctest.Wait()
		q.ShutDown()
		for range cap(got) {
			c.write("%v", <-got)
		}
	},
	"odd delays": func(c *transcript) {
		q := c.delaying(TypedDelayingQueueConfig[string]{})
		q.AddAfter("negative", -5*time.Hour)
		q.AddAfter("zero", 0)
		q.AddAfter("least", math.MinInt64)
		c.write("%d", q.Len())
		q.AddAfter("longest", math.MaxInt64)
		q.AddAfter("shortest", 1)
		<-time.After(time.Hour)
		synctest.Wait()
		for q.Len() > 0 {
			c.get(q)
		}
		q.AddAfter("longest", time.Second)
		<-time.After(time.Second)
		synctest.Wait()
		c.get(q)
		q.Add("a")
		q.AddAfter("a", time.Second)
		q.AddAfter("never", time.Second)
		q.ShutDown()
		q.AddAfter("late", time.Second)
		<-time.After(time.Minute)
		c.get(q)
		c.get(q)
	},
	"order of deadlines": func(c *transcript) {
		q := c.delaying(TypedDelayingQueueConfig[string]{})
		for i := range 12 {
			q.AddAfter(fmt.Sprint(i), time.Duration(12-i)*time.Millisecond)
		}
		<-time.After(time.Second)
		synctest.Wait()
		for q.Len() > 0 {
			c.get(q)
		}
		q.ShutDown()
	},
	"a clock that a test moves": func(c *transcript) {
		clock := testingclock.NewFakeClock(time.Now())
		q := c.delaying(TypedDelayingQueueConfig[string]{Clock: clock})
		q.AddAfter("a", time.Second)
		q.AddAfter("b", 2*time.Second)
		synctest.Wait()
		for _, step := range []time.Duration{time.Second - 1, 1, time.Minute} {
			clock.Step(step)
			synctest.Wait()
			c.write("%d %v", q.Len(), q.Len() == 2 || clock.HasWaiters())
		}
		q.ShutDown()
	},
	"retries of what is unknown, or too late": func(c *transcript) {
		q := c.rateLimiting(c.exponential(time.Millisecond, time.Second), TypedRateLimitingQueueConfig[string]{})
		q.Forget("unknown")
		q.AddRateLimited("a")
		q.AddRateLimited("a")
		q.ShutDown()
		q.AddRateLimited("a")
		c.write("%d %d", q.NumRequeues("unknown"), q.NumRequeues("a"))
		q.Forget("a")
		c.write("%d", q.NumRequeues("a"))
	},
	"a limiter that panics": func(c *transcript) {
		q := c.rateLimiting(badLimiter{}, TypedRateLimitingQueueConfig[string]{})
		c.try(func() { q.AddRateLimited("a") })
		c.try(func() { q.Forget("a") })
		c.try(func() { q.NumRequeues("a") })
		q.Add("b")
		c.get(q)
		q.ShutDown()
	},
	"odd limits": func(c *transcript) {
		for _, l := range []TypedRateLimiter[string]{
			c.exponential(0, 0), c.exponential(-time.Second, time.Second), c.exponential(time.Second, -time.Second),
			c.exponential(time.Minute, time.Second), c.fastSlow(1, 2, 0), c.maxOf(),
			c.maxWait(c.exponential(time.Second, time.Hour), 0), c.maxWait(c.exponential(time.Second, time.Hour), -1),
		} {
			l.Forget("never")
			c.write("%v %v %d", l.When("a"), l.When("a"), l.NumRequeues("a"))
		}
	},
}

func TestOrder_UnusualCallsDoWhatTheyDoInClientGo(t *testing.T) {
	for name, tell := range unusualCalls {
		t.Run(name, func(t *testing.T) {
			seen := map[string]string{}
			inBothWorlds(t, func(_ *testing.T, w world) {
				c := &transcript{world: w}
				tell(c)
				seen[w.name] = strings.Join(c.lines, "\n")
			})
			require.NotEmpty(t, seen[clientGo.name])
			require.Equal(t, seen[clientGo.name], seen[glasswatch.name])
		})
	}
}

// No two NaNs are equal, and no slice can be compared.
func TestOrder_ItemsThatAreUnlikeThemselvesAreQueuedAsInClientGo(t *testing.T) {
	queues := map[string]TypedRateLimitingInterface[any]{}
	synctest.Test(t, func(t *testing.T) {
		limiter := clientgo.NewTypedItemExponentialFailureRateLimiter[any](time.Millisecond, time.Second)
		queues["theirs"] = clientgo.NewTypedRateLimitingQueue(limiter)
		queues["ours"] = NewTypedRateLimitingQueue(limiter)
		seen := map[string][]string{}
		for name, q := range queues {
			write := func(format string, args ...any) { seen[name] = append(seen[name], fmt.Sprintf(format, args...)) }
			for _, item := range []any{nil, nil, math.NaN(), math.NaN()} {
				q.Add(item)
				q.AddAfter(item, time.Millisecond)
				q.AddRateLimited(item)
				q.Forget(item)
			}
			<-time.After(time.Second)
			synctest.Wait()
			for n := q.Len(); n > 0; n-- {
				item, shutdown := q.Get()
				write("%v %v %d", item, shutdown, n)
				q.Done(item)
			}
			func() {
				defer func() { write("%v", recover()) }()
				q.Add([]int{1})
			}()
			q.Add("the next")
			write("%d", q.Len())
			q.ShutDown()
		}
		require.Equal(t, seen["theirs"], seen["ours"])
	})
}

// client-go's has a heartbeat all the time. So a test that waits for a waiter before it delays an item waits in vain
// here.
func TestOrder_AClockHasWaitersOnlyWhileItemsAreDelayed(t *testing.T) {
	inBothWorlds(t, func(t *testing.T, w world) {
		clock := testingclock.NewFakeClock(time.Now())
		q := w.delaying(TypedDelayingQueueConfig[string]{Clock: clock})
		defer q.ShutDown()
		synctest.Wait()
		require.Equal(t, w.name == clientGo.name, clock.HasWaiters())
		q.AddAfter("a", time.Second)
		synctest.Wait()
		require.True(t, clock.HasWaiters())
		clock.Step(time.Second)
		synctest.Wait()
		require.Equal(t, 1, q.Len())
		require.Equal(t, w.name == clientGo.name, clock.HasWaiters())
	})
}
