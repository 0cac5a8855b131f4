package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	"glasswatch/workqueue/limiters"
)

// tick is what time passes by below: rates and times are made of halves of seconds, halved again, which floats hold
// exactly.
const tick = time.Second / 8

// bucketModel has its tokens in the time that they take to come: below zero are those that were promised before they
// came.
type bucketModel struct {
	every  time.Duration // a token comes
	most   time.Duration
	tokens time.Duration
}

func (m *bucketModel) pass(d time.Duration) { m.tokens = min(m.tokens+d, m.most) }

// take returns how long the taker has to wait.
func (m *bucketModel) take() time.Duration {
	m.tokens -= m.every
	return max(0, -m.tokens)
}

func drawBucket(t *rapid.T) (*bucketModel, *limiters.BucketRateLimiter[int]) {
	perSecond := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "tokens a second")
	burst := rapid.IntRange(1, 5).Draw(t, "burst")
	m := &bucketModel{every: time.Second / time.Duration(perSecond)}
	m.most = time.Duration(burst) * m.every
	m.tokens = m.most
	return m, limiters.NewBucketRateLimiter[int](rate.NewLimiter(rate.Limit(perSecond), burst))
}

func TestBucketRateLimiter_BehavesLikeACountOfTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(noDeadline{t}, func(t *rapid.T) {
			m, l := drawBucket(t)
			item := rapid.IntRange(0, 3)
			t.Repeat(map[string]func(*rapid.T){
				"When": func(t *rapid.T) { require.Equal(t, m.take(), l.When(item.Draw(t, "item"))) },
				"Allow": func(t *rapid.T) { // as somebody does who shares the bucket
					there := m.tokens >= m.every
					require.Equal(t, there, l.Allow())
					if there {
						m.take()
					}
				},
				"Forget": func(t *rapid.T) { l.Forget(item.Draw(t, "item")) },
				"Pass": func(t *rapid.T) {
					d := tick * time.Duration(rapid.IntRange(0, 40).Draw(t, "ticks"))
					<-time.After(d)
					m.pass(d)
				},
				"": func(t *rapid.T) {
					require.Equal(t, m.tokens.Seconds()/m.every.Seconds(), l.Tokens())
					require.Zero(t, l.NumRequeues(item.Draw(t, "item")))
				},
			})
		})
	})
}

// A bucket among others limits all items together; each item waits for its own limiter besides.
func TestRateLimitingQueue_WithABucketBehavesLikeItsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(noDeadline{t}, func(t *rapid.T) {
			var d depth
			bucket, l := drawBucket(t)
			limiter := limiters.NewMaxOfRateLimiter(l, limiters.NewItemFastSlowRateLimiter[int](0, time.Second, 2))
			q := NewRateLimiting(Options[int]{RateLimiter: limiter, Metrics: &d})
			defer q.ShutDown()
			m, retries := &model{processing: map[int]bool{}, dirty: map[int]int{}}, map[int]int{}
			do := actions(&q.DelayingQueue, m, &d)
			item := rapid.IntRange(0, 6)
			do["AddRateLimited"] = func(t *rapid.T) {
				i, wait := item.Draw(t, "item"), bucket.take()
				if retries[i]++; retries[i] > 2 {
					wait = max(wait, time.Second)
				}
				q.AddRateLimited(i)
				m.addAfter(i, wait, 0)
			}
			do["Forget"] = func(t *rapid.T) {
				i := item.Draw(t, "item")
				q.Forget(i)
				delete(retries, i)
			}
			do["Pass"] = func(t *rapid.T) {
				passed := tick * time.Duration(rapid.IntRange(1, 24).Draw(t, "ticks"))
				<-time.After(passed)
				synctest.Wait()
				bucket.pass(passed)
				m.tick()
			}
			t.Repeat(do)
		})
	})
}
