package userasks

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	"glasswatch/workqueue"
	"glasswatch/workqueue/limiters"
)

// A controller forgets to call Forget for objects that are deleted while they fail. Ten thousand Jobs come and go.
func TestRetryCountersThatNobodyForgetsAreBoundedAndShown(t *testing.T) {
	type limiter interface {
		When(item string) time.Duration
		NumRequeues(item string) int
	}
	const jobs = 10_000
	remembered := func(l limiter) (n int) {
		for i := range jobs {
			l.When("job-" + strconv.Itoa(i))
		}
		for i := range jobs {
			n += l.NumRequeues("job-" + strconv.Itoa(i))
		}
		return n
	}
	clientGo(t, func(t *testing.T) {
		l := clientgo.NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, time.Second)
		require.Equal(t, jobs, remembered(l), "every one, for ever")
		_, tells := l.(interface{ Tracked() int })
		require.False(t, tells, "and nothing says how many there are")
	})
	glasswatch(t, func(t *testing.T) {
		l := limiters.NewItemExponentialFailureRateLimiter[string](time.Millisecond, time.Second)
		l.MaxTracked = 1_000 // DefaultMaxTracked is enough for any controller that calls Forget
		require.Equal(t, 1_000, remembered(l))
		require.Equal(t, uint64(jobs-1_000), l.Evicted())
		require.Equal(t, 1, l.NumRequeues("job-9999"), "those that failed last are remembered")

		// The number is to be watched: a controller makes a metric of it.
		q := workqueue.NewRateLimiting(workqueue.Options[string]{RateLimiter: l})
		require.Equal(t, 1_000, q.Tracked())
		q.ShutDown()
	})
}
