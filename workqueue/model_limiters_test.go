package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"glasswatch/workqueue/limiters"
)

// limitersModel says what the limiters of the queue below do, in one place: the longer of 1, 2, 4 … seconds up to four,
// and of one second twice and then three.
func limitersModel(n int) time.Duration {
	exponential := time.Second
	for range n - 1 {
		exponential = min(2*exponential, 4*time.Second)
	}
	if n <= 2 {
		return exponential
	}
	return max(exponential, 3*time.Second)
}

// The limiters count the retries of each item; the queue does with the delays what AddAfter would.
func TestRateLimitingQueue_BehavesLikeItsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(noDeadline{t}, func(t *rapid.T) {
			var d depth
			exponential := limiters.NewItemExponentialFailureRateLimiter[int](time.Second, time.Hour)
			limiter := limiters.NewMaxOfRateLimiter(
				limiters.NewWithMaxWaitRateLimiter(exponential, 4*time.Second),
				limiters.NewItemFastSlowRateLimiter[int](time.Second, 3*time.Second, 2))
			q := NewRateLimiting(Options[int]{RateLimiter: limiter, Metrics: &d})
			defer q.ShutDown()
			m, retries := &model{processing: map[int]bool{}, dirty: map[int]int{}}, map[int]int{}
			do := actions(&q.DelayingQueue, m, &d)
			again := func(item int) time.Duration {
				retries[item]++
				return limitersModel(retries[item])
			}
			item := rapid.IntRange(0, 6)
			do["AddRateLimited"] = func(t *rapid.T) {
				i := item.Draw(t, "item")
				q.AddRateLimited(i)
				m.addAfter(i, again(i), 0)
			}
			do["When"] = func(t *rapid.T) { // as somebody does who shares the limiter
				i := item.Draw(t, "item")
				require.Equal(t, again(i), limiter.When(i))
			}
			do["Forget"] = func(t *rapid.T) {
				i := item.Draw(t, "item")
				q.Forget(i)
				delete(retries, i)
			}
			same := do[""]
			do[""] = func(t *rapid.T) {
				same(t)
				for i := range 7 {
					require.Equal(t, retries[i], q.NumRequeues(i))
				}
				require.Equal(t, len(retries), q.Tracked())
			}
			t.Repeat(do)
		})
	})
}

func TestRateLimitingQueue_DelaysByTheLimiterUntilForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := limiters.NewItemExponentialFailureRateLimiter[string](time.Second, time.Hour)
		q := NewRateLimiting(Options[string]{RateLimiter: limiter})
		start := time.Now()
		retry := func() time.Duration {
			q.AddRateLimited("a")
			q.Get()
			q.Done("a")
			return time.Since(start)
		}
		assert.Equal(t, time.Second, retry())
		assert.Equal(t, 3*time.Second, retry())
		assert.Equal(t, 2, q.NumRequeues("a"))
		q.Forget("a")
		assert.Equal(t, 4*time.Second, retry())
		assert.Equal(t, 1, q.Tracked())
		q.ShutDown()
	})
	assert.IsType(t, &limiters.MaxOfRateLimiter[string]{}, NewRateLimiting(Options[string]{}).limiter)
}
