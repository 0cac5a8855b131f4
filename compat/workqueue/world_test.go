package workqueue

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"
)

type rateLimitingQueue = TypedRateLimitingInterface[string]

// world is one of the two packages, by what tests need of it. Everything a test does in one world it does in the other.
type world struct {
	name           string
	typed          func(TypedQueueConfig[string]) TypedInterface[string]
	delaying       func(TypedDelayingQueueConfig[string]) TypedDelayingInterface[string]
	rateLimiting   func(TypedRateLimiter[string], TypedRateLimitingQueueConfig[string]) rateLimitingQueue
	storage        func() Queue[string]
	exponential    func(base, max time.Duration) TypedRateLimiter[string]
	fastSlow       func(fast, slow time.Duration, attempts int) TypedRateLimiter[string]
	maxOf          func(...TypedRateLimiter[string]) TypedRateLimiter[string]
	maxWait        func(TypedRateLimiter[string], time.Duration) TypedRateLimiter[string]
	itemBased      func() TypedRateLimiter[string]
	controllerWide func() TypedRateLimiter[string]
}

var clientGo = world{
	name:           "client-go",
	typed:          func(c TypedQueueConfig[string]) TypedInterface[string] { return clientgo.NewTypedWithConfig(c) },
	delaying:       clientgo.NewTypedDelayingQueueWithConfig[string],
	rateLimiting:   clientgo.NewTypedRateLimitingQueueWithConfig[string],
	storage:        clientgo.DefaultQueue[string],
	exponential:    clientgo.NewTypedItemExponentialFailureRateLimiter[string],
	fastSlow:       clientgo.NewTypedItemFastSlowRateLimiter[string],
	maxOf:          clientgo.NewTypedMaxOfRateLimiter[string],
	maxWait:        clientgo.NewTypedWithMaxWaitRateLimiter[string],
	itemBased:      clientgo.DefaultTypedItemBasedRateLimiter[string],
	controllerWide: clientgo.DefaultTypedControllerRateLimiter[string],
}

var glasswatch = world{
	name:           "glasswatch",
	typed:          func(c TypedQueueConfig[string]) TypedInterface[string] { return NewTypedWithConfig(c) },
	delaying:       NewTypedDelayingQueueWithConfig[string],
	rateLimiting:   NewTypedRateLimitingQueueWithConfig[string],
	storage:        DefaultQueue[string],
	exponential:    NewTypedItemExponentialFailureRateLimiter[string],
	fastSlow:       NewTypedItemFastSlowRateLimiter[string],
	maxOf:          NewTypedMaxOfRateLimiter[string],
	maxWait:        NewTypedWithMaxWaitRateLimiter[string],
	itemBased:      DefaultTypedItemBasedRateLimiter[string],
	controllerWide: DefaultTypedControllerRateLimiter[string],
}

// inBothWorlds plays a story in each world, in virtual time.
func inBothWorlds(t *testing.T, story func(t *testing.T, w world)) {
	t.Helper()
	for _, w := range []world{clientGo, glasswatch} {
		t.Run("impl="+w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { story(t, w) })
		})
	}
}

// expectGet takes the next item, which must be there.
func expectGet(t *testing.T, q TypedInterface[string], want string) {
	t.Helper()
	synctest.Wait()
	require.NotZero(t, q.Len(), "%q should wait to be taken, nothing does", want)
	got, shutdown := q.Get()
	require.False(t, shutdown)
	require.Equal(t, want, got)
}

func expectEmpty(t *testing.T, q TypedInterface[string]) {
	t.Helper()
	synctest.Wait()
	require.Zero(t, q.Len())
}

// expectShutdown checks that Get reports the shutdown.
func expectShutdown(t *testing.T, q TypedInterface[string]) {
	t.Helper()
	require.True(t, q.ShuttingDown())
	_, shutdown := q.Get()
	require.True(t, shutdown)
}

// ledger is a MetricsProvider that remembers the history of each metric. The metrics themselves are guarded by nothing,
// as client-go allows, which makes -race a witness that calls for one queue do not overlap.
type ledger struct {
	mu      sync.Mutex // guards metrics
	metrics map[string]*column
}

type column struct {
	entries []string
	value   float64
}

func (c *column) Inc()              { c.Set(c.value + 1) }
func (c *column) Dec()              { c.Set(c.value - 1) }
func (c *column) Observe(v float64) { c.Set(v) }
func (c *column) Set(v float64) {
	c.value = v
	c.entries = append(c.entries, fmt.Sprint(v))
}

func (l *ledger) open(name, metric string) *column {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &column{}
	if l.metrics == nil {
		l.metrics = map[string]*column{}
	}
	l.metrics[name+"/"+metric] = c
	return c
}

func (l *ledger) NewDepthMetric(name string) GaugeMetric       { return l.open(name, "depth") }
func (l *ledger) NewAddsMetric(name string) CounterMetric      { return l.open(name, "adds") }
func (l *ledger) NewLatencyMetric(name string) HistogramMetric { return l.open(name, "latency") }
func (l *ledger) NewWorkDurationMetric(name string) HistogramMetric {
	return l.open(name, "work")
}
func (l *ledger) NewUnfinishedWorkSecondsMetric(name string) SettableGaugeMetric {
	return l.open(name, "unfinished")
}
func (l *ledger) NewLongestRunningProcessorSecondsMetric(name string) SettableGaugeMetric {
	return l.open(name, "longest")
}
func (l *ledger) NewRetriesMetric(name string) CounterMetric { return l.open(name, "retries") }

// history returns all values of a metric; nil if there is no such metric.
func (l *ledger) history(metric string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.metrics[metric]; c != nil {
		return append([]string{}, c.entries...)
	}
	return nil
}

func (l *ledger) value(metric string) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.metrics[metric].value
}
