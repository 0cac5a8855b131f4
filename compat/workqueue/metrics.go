package workqueue

import (
	"sync"
	"sync/atomic"
	"time"

	"glasswatch/workqueue"
)

// global is the first provider that SetProvider got; nil until then.
var global atomic.Pointer[MetricsProvider]

// SetProvider makes queues report to metricsProvider that are made from now on, have a name, and none of their own.
// Only the first call has an effect. client-go's SetProvider has none on these queues, nor this one on client-go's.
func SetProvider(metricsProvider MetricsProvider) { global.CompareAndSwap(nil, &metricsProvider) }

// providerOf returns the provider that a queue is to report to; nil if to none.
func providerOf(name string, own MetricsProvider) MetricsProvider {
	if name == "" {
		return nil
	}
	if own != nil {
		return own
	}
	if p := global.Load(); p != nil {
		return *p
	}
	return nil
}

// Whether a queue has delays, and so counts retries.
const (
	noRetries   = false
	withRetries = true
)

// metricsOf returns the metrics for glasswatch's queue; nil, which costs nothing, without a provider.
func metricsOf(name string, own MetricsProvider, retries bool) workqueue.Metrics {
	p := providerOf(name, own)
	if p == nil {
		return nil
	}
	m := &metrics{
		depth:          p.NewDepthMetric(name),
		adds:           p.NewAddsMetric(name),
		latency:        p.NewLatencyMetric(name),
		workDuration:   p.NewWorkDurationMetric(name),
		unfinished:     p.NewUnfinishedWorkSecondsMetric(name),
		longestRunning: p.NewLongestRunningProcessorSecondsMetric(name),
	}
	if retries {
		m.retries = p.NewRetriesMetric(name)
	}
	return m
}

// retriesOf returns the counter of retries of a queue whose other metrics are not its own; nil if nobody listens.
func retriesOf(name string, own MetricsProvider) CounterMetric {
	if p := providerOf(name, own); p != nil {
		return p.NewRetriesMetric(name)
	}
	return nil
}

// metrics translates the metrics of glasswatch's queue into client-go's.
type metrics struct {
	// mu is held while a metric is told, since client-go never tells two of one queue at once. The queue holds none of
	// its own locks then, so a metric may well ask it for its length; but not change it.
	mu             sync.Mutex
	depth          GaugeMetric
	adds           CounterMetric
	latency        HistogramMetric
	workDuration   HistogramMetric
	unfinished     SettableGaugeMetric
	longestRunning SettableGaugeMetric
	retries        CounterMetric // nil if the queue has no delays
}

func (m *metrics) Added() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.adds.Inc()
	m.depth.Inc()
}

func (m *metrics) Taken(queued time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.depth.Dec()
	m.latency.Observe(queued.Seconds())
}

func (m *metrics) Finished(worked time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.workDuration.Observe(worked.Seconds())
}

func (m *metrics) Unfinished(total, longest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unfinished.Set(total.Seconds())
	m.longestRunning.Set(longest.Seconds())
}

func (m *metrics) Retried() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retries.Inc()
}
