package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"glasswatch/internal/book"
	"glasswatch/workqueue/limiters"
)

// TestWalkthrough tells what the package does, one idea after the other. Read it from the top.
func TestWalkthrough(t *testing.T) {
	book.Chapter(t, "6 of 7, workqueue: the to-do list", `The queue holds the keys of objects that somebody has to
		look at. It merges what is added twice, gives no key to two workers at once, and lets failed keys wait.`)
	step := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}

	step("1 a queue hands items out in order", func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("a")
		q.Add("b")
		assert.Equal(t, "a", take(t, q))
		assert.Equal(t, "b", take(t, q))
		book.Saw(t, "a and b are added; Get returns a, then b")
		book.Why(t, `What was added first has waited longest. No item is left behind by later ones.`)
	})

	step("2 ten changes of an object are one item", func(t *testing.T) {
		q := New(Options[string]{})
		for range 10 {
			q.Add("a")
		}
		assert.Equal(t, 1, q.Len())
		book.Saw(t, "a is added ten times; the queue's length is %d", q.Len())
		book.Why(t, `A worker looks at the newest state, so one look answers all ten changes.`)
	})

	step("3 a change during the work brings the item back after the work", func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("a")
		take(t, q)
		q.Add("a")
		assert.Equal(t, 0, q.Len())
		q.Done("a")
		assert.Equal(t, 1, q.Len())
		book.Saw(t, "a is added while a worker has it; the length is 0 until Done, then %d", q.Len())
		book.Why(t, `The worker may have read the state before the change, so one more look is needed. And two workers
			must not write for the same object at once.`)
	})

	step("4 an item can be due later, and of several delays the shortest counts", func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		start := time.Now()
		q.AddAfter("a", time.Hour)
		q.AddAfter("a", time.Minute)
		q.AddAfter("a", 2*time.Hour)
		take(t, q)
		assert.Equal(t, time.Minute, time.Since(start))
		book.Saw(t, "a is added with delays of 1h, 1m and 2h; it comes once, after %v", time.Since(start))
		<-time.After(3 * time.Hour)
		assert.Zero(t, q.Len())
		book.Why(t, `Each caller wants a look no later than its delay, for example when a certificate expires. A look
			that comes sooner does no harm.`)
		q.ShutDown()
	})

	step("5 an Add in between leaves the delayed item where it is", func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		start := time.Now()
		q.AddAfter("a", time.Minute)
		q.Add("a")
		q.Done(take(t, q))
		take(t, q)
		assert.Equal(t, time.Minute, time.Since(start))
		book.Saw(t, "a has a delay of 1m and is added now; it comes at once, and again after %v", time.Since(start))
		book.Why(t, `The look that is due in a minute may be for a time limit, which an earlier look cannot answer.`)
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
		book.Saw(t, "four failures of a wait %v; after Forget the count is %d", waited, q.NumRequeues("a"))
		book.Why(t, `A server in trouble gets fewer requests (exponential backoff), and after a success the first retry
			is quick again.`)
		q.ShutDown()
	})

	step("7 Forget sets the count to zero, and leaves a pending retry where it is", func(t *testing.T) {
		limiter := limiters.NewItemExponentialFailureRateLimiter[string](time.Second, time.Hour)
		q := NewRateLimiting(Options[string]{RateLimiter: limiter})
		start := time.Now()
		q.AddRateLimited("a")
		q.Forget("a")
		assert.Equal(t, 0, q.Len())
		assert.Equal(t, "a", take(t, q), "it comes all the same")
		assert.Equal(t, time.Second, time.Since(start), "and no sooner")
		book.Saw(t, "AddRateLimited, then Forget; a comes all the same, after %v", time.Since(start))
		book.Why(t, `Forget is about the next delay, not about this one. A reconcile has to expect a key whose object is
			gone.`)
		q.ShutDown()
	})

	step("8 the item of the highest priority goes first", func(t *testing.T) {
		q := New(Options[string]{})
		q.AddWithPriority("from the initial list", -1)
		q.Add("live")
		got := takeAll(t, q)
		assert.Equal(t, []string{"live", "from the initial list"}, got)
		book.Saw(t, "added with priority -1: %q, then with 0: %q; first out is %q", got[1], got[0], got[0])
		book.Why(t, `After a restart, thousands of objects from the first list are queued. A change that somebody waits
			for should not stand behind them.`)
	})

	step("9 a drain waits for the workers, and Get tells them that it is over", func(t *testing.T) {
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
		book.Saw(t, "a worker needs 1m for a; ShutDownWithDrain returns after %v", time.Since(start))
		book.Why(t, `A program that ends in the midst of a write leaves half of its work to its successor.`)
	})
}
