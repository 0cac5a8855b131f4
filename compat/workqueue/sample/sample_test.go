// Package sample is a program's code as it is written for client-go: nothing in it knows of glasswatch. It is tested as
// it stands, and by the package above with its one import changed.
package sample

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// controller is the usual worker loop.
type controller struct {
	queue   workqueue.TypedRateLimitingInterface[string]
	sync    func(key string) error
	dropped atomic.Int32
}

const maxRetries = 4

func newController(provider workqueue.MetricsProvider, sync func(key string) error) *controller {
	return &controller{
		sync: sync,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedWithMaxWaitRateLimiter(
				workqueue.NewTypedMaxOfRateLimiter(
					workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Hour),
					&workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(rate.Limit(10), 100)},
				),
				5*time.Second,
			),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "sample", MetricsProvider: provider},
		),
	}
}

func (c *controller) run(ctx context.Context, workers int) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for c.next() {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	wg.Wait()
}

func (c *controller) next() bool {
	key, quit := c.queue.Get()
	if quit {
		return false
	}
	defer c.queue.Done(key)
	switch err := c.sync(key); {
	case err == nil:
		c.queue.Forget(key)
	case c.queue.NumRequeues(key) < maxRetries:
		c.queue.AddRateLimited(key)
	default:
		c.queue.Forget(key)
		c.dropped.Add(1)
	}
	return true
}

func TestController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		began := time.Now()
		calls := map[string][]time.Duration{}
		metrics := &counters{}
		c := newController(metrics, func(key string) error {
			mu.Lock()
			defer mu.Unlock()
			calls[key] = append(calls[key], time.Since(began))
			if key == "broken" || key == "flaky" && len(calls[key]) == 1 {
				return errors.New("not today")
			}
			return nil
		})
		t.Logf("the queue is a %T", c.queue)
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			c.run(ctx, 3)
		}()
		workqueue.ParallelizeUntil(ctx, 2, 20, func(int) { c.queue.Add("steady") }, workqueue.WithChunkSize(4))
		c.queue.Add("flaky")
		c.queue.Add("broken")
		c.queue.AddAfter("later", time.Minute)
		<-time.After(time.Hour)
		cancel()
		<-stopped

		require.NotEmpty(t, calls["steady"])
		require.Equal(t, []time.Duration{0, time.Second}, calls["flaky"])
		times := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 12 * time.Second}
		require.Equal(t, times, calls["broken"])
		require.Equal(t, []time.Duration{time.Minute}, calls["later"])
		require.EqualValues(t, 1, c.dropped.Load())
		require.Zero(t, c.queue.Len())
		require.Zero(t, metrics.depth.Load())
		require.EqualValues(t, 1+4+1, metrics.retries.Load())
	})
}

func TestDelaysByAFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := clocktesting.NewFakeClock(time.Now())
		queue := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[int]{Clock: clock})
		defer queue.ShutDown()
		queue.AddAfter(1, time.Minute)
		synctest.Wait()
		require.True(t, clock.HasWaiters())
		clock.Step(time.Minute)
		item, _ := queue.Get()
		require.Equal(t, 1, item)
		queue.Done(item)
	})
}

func TestQueueOfPointersWithStorageOfItsOwn(t *testing.T) {
	type job struct{ name string }
	a, b := &job{"a"}, &job{"b"}
	var queue *workqueue.Typed[*job] = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[*job]{
		Queue: &loud[*job]{Queue: workqueue.DefaultQueue[*job]()},
	})
	queue.Add(a)
	queue.Add(b)
	queue.Add(a)
	got, _ := queue.Get()
	require.Same(t, a, got)
	queue.Done(got)
	queue.ShutDown()
	got, _ = queue.Get()
	require.Same(t, b, got)
	_, shutdown := queue.Get()
	require.True(t, shutdown)
}

// loud is storage that builds on the default one.
type loud[T comparable] struct {
	workqueue.Queue[T]
	touched int
}

func (l *loud[T]) Touch(item T) {
	l.touched++
	l.Queue.Touch(item)
}

// counters is a metrics provider that knows two numbers.
type counters struct {
	none
	depth, retries number
}

type number struct{ atomic.Int64 }

func (n *number) Inc() { n.Add(1) }
func (n *number) Dec() { n.Add(-1) }

type none struct{}

func (none) Inc()            {}
func (none) Observe(float64) {}
func (none) Set(float64)     {}

func (c *counters) NewDepthMetric(string) workqueue.GaugeMetric            { return &c.depth }
func (c *counters) NewAddsMetric(string) workqueue.CounterMetric           { return none{} }
func (c *counters) NewLatencyMetric(string) workqueue.HistogramMetric      { return none{} }
func (c *counters) NewWorkDurationMetric(string) workqueue.HistogramMetric { return none{} }
func (c *counters) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return none{}
}
func (c *counters) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return none{}
}
func (c *counters) NewRetriesMetric(string) workqueue.CounterMetric { return &c.retries }
