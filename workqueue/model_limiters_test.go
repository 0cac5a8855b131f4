package workqueue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// retry is what the model of the counters remembers of an item.
type retry struct{ item, n int }

// countsModel is a slice in the order of the last retries.
type countsModel struct {
	most    int
	retries []retry
	evicted uint64
}

func (m *countsModel) find(item int) int {
	return slices.IndexFunc(m.retries, func(r retry) bool { return r.item == item })
}

func (m *countsModel) n(item int) int {
	if i := m.find(item); i >= 0 {
		return m.retries[i].n
	}
	return 0
}

func (m *countsModel) increment(item int) int {
	n := m.n(item) + 1
	if i := m.find(item); i >= 0 {
		m.retries = slices.Delete(m.retries, i, i+1)
	} else if len(m.retries) == m.most {
		m.retries = m.retries[1:]
		m.evicted++
	}
	m.retries = append(m.retries, retry{item, n})
	return n
}

func (m *countsModel) forget(item int) {
	if i := m.find(item); i >= 0 {
		m.retries = slices.Delete(m.retries, i, i+1)
	}
}

func TestCounts_BehaveLikeASliceInTheOrderOfRetries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &countsModel{most: rapid.IntRange(1, 5).Draw(t, "most")}
		c := &Counts[int]{MaxTracked: m.most}
		item := rapid.IntRange(0, 7)
		t.Repeat(map[string]func(*rapid.T){
			"retry": func(t *rapid.T) {
				i := item.Draw(t, "item")
				require.Equal(t, m.increment(i), c.increment(i))
			},
			"Forget": func(t *rapid.T) {
				i := item.Draw(t, "item")
				m.forget(i)
				c.Forget(i)
			},
			"": func(t *rapid.T) {
				for i := range 8 {
					require.Equal(t, m.n(i), c.NumRequeues(i), "item %d", i)
				}
				require.Equal(t, len(m.retries), c.Tracked())
				require.Equal(t, m.evicted, c.Evicted())
			},
		})
	})
}

// limitersModel says what the limiters of the queue below do, in one place: the longer of 1, 2, 4 … seconds up to four, and
// of one second twice and then three.
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
			limiter := NewMaxOfRateLimiter(
				NewWithMaxWaitRateLimiter(NewItemExponentialFailureRateLimiter[int](time.Second, time.Hour), 4*time.Second),
				NewItemFastSlowRateLimiter[int](time.Second, 3*time.Second, 2))
			q := NewRateLimiting(Options[int]{RateLimiter: limiter, Metrics: &d})
			defer q.ShutDown()
			m, retries := &model{processing: map[int]bool{}, dirty: map[int]int{}}, &countsModel{most: 100}
			do := actions(&q.DelayingQueue, m, &d)
			item := rapid.IntRange(0, 6)
			do["AddRateLimited"] = func(t *rapid.T) {
				i := item.Draw(t, "item")
				q.AddRateLimited(i)
				m.addAfter(i, limitersModel(retries.increment(i)), 0)
			}
			do["AddRateLimitedWithPriority"] = func(t *rapid.T) {
				i, p := item.Draw(t, "item"), rapid.IntRange(-1, 1).Draw(t, "priority")
				q.AddRateLimitedWithPriority(i, p)
				m.addAfter(i, limitersModel(retries.increment(i)), p)
			}
			do["When"] = func(t *rapid.T) { // as somebody does who shares the limiter
				i := item.Draw(t, "item")
				require.Equal(t, limitersModel(retries.increment(i)), limiter.When(i))
			}
			do["Forget"] = func(t *rapid.T) {
				i := item.Draw(t, "item")
				q.Forget(i)
				retries.forget(i)
			}
			same := do[""]
			do[""] = func(t *rapid.T) {
				same(t)
				for i := range 7 {
					require.Equal(t, retries.n(i), q.NumRequeues(i))
				}
				require.Equal(t, len(retries.retries), q.Tracked())
			}
			t.Repeat(do)
		})
	})
}
