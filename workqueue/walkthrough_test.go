package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"glasswatch/workqueue/limiters"
)

// TestWalkthrough tells what the package does, one idea after the other. Read it from the top.
func TestWalkthrough(t *testing.T) {
	step := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}

	step("1 a queue hands items out in order", func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("a")
		q.Add("b")
		assert.Equal(t, "a", take(t, q))
		assert.Equal(t, "b", take(t, q))
	})

	step("2 ten changes of an object are one item", func(t *testing.T) {
		q := New(Options[string]{})
		for range 10 {
			q.Add("a")
		}
		assert.Equal(t, 1, q.Len())
	})

	step("3 a change during the work brings the item back, after the work", func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("a")
		take(t, q)
		q.Add("a")
		assert.Equal(t, 0, q.Len())
		q.Done("a")
		assert.Equal(t, 1, q.Len())
	})

	step("4 an item can be due later, and the sooner of two promises counts", func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		start := time.Now()
		q.AddAfter("a", time.Hour)
		q.AddAfter("a", time.Minute)
		take(t, q)
		assert.Equal(t, time.Minute, time.Since(start))
		q.ShutDown()
	})

	step("5 an Add in between does not break the promise", func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		start := time.Now()
		q.AddAfter("a", time.Minute)
		q.Add("a")
		q.Done(take(t, q))
		take(t, q)
		assert.Equal(t, time.Minute, time.Since(start))
		q.ShutDown()
	})

	step("6 an item that fails waits longer each time, until it is forgotten", func(t *testing.T) {
		limiter := limiters.NewItemExponentialFailureRateLimiter[string](time.Second, time.Hour)
		q := NewRateLimiting(Options[string]{RateLimiter: limiter})
		var waited []time.Duration
		for range 4 {
			start := time.Now()
			q.AddRateLimited("a")
			q.Done(take(t, q))
			waited = append(waited, time.Since(start))
		}
		assert.Equal(t, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}, waited)
		q.Forget("a")
		assert.Equal(t, 0, q.NumRequeues("a"))
		q.ShutDown()
	})

	step("7 Forget sets the count to zero, and a try that waits already stays where it is", func(t *testing.T) {
		limiter := limiters.NewItemExponentialFailureRateLimiter[string](time.Second, time.Hour)
		q := NewRateLimiting(Options[string]{RateLimiter: limiter})
		start := time.Now()
		q.AddRateLimited("a")
		q.Forget("a")
		assert.Equal(t, 0, q.Len())
		assert.Equal(t, "a", take(t, q), "it comes all the same")
		assert.Equal(t, time.Second, time.Since(start), "and no sooner")
		q.ShutDown()
	})

	step("8 what matters more goes first", func(t *testing.T) {
		q := New(Options[string]{})
		q.AddWithPriority("from the initial list", -1)
		q.Add("live")
		assert.Equal(t, []string{"live", "from the initial list"}, takeAll(t, q))
	})

	step("9 a drain waits for the workers, and workers learn that it is over", func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("a")
		go func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				<-time.After(time.Minute) // the work
				q.Done(item)
			}
		}()
		start := time.Now()
		q.ShutDownWithDrain()
		assert.Equal(t, time.Minute, time.Since(start))
	})
}
