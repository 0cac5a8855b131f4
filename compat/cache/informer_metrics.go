package cache

import (
	"strconv"
	"sync"
	"sync/atomic"
)

// informerMetricsProvider is the first provider that SetInformerMetricsProvider got.
var informerMetricsProvider atomic.Pointer[InformerMetricsProvider]

// SetInformerMetricsProvider sets the provider of the metrics of queues and stores that are made from then on. Only the
// first call has an effect. client-go's provider cannot be read: call both functions if both packages are in use.
func SetInformerMetricsProvider(metricsProvider InformerMetricsProvider) {
	informerMetricsProvider.CompareAndSwap(nil, &metricsProvider)
}

// providerFor returns the provider to ask for id's metrics, given or global; nil if id publishes none.
func providerFor(id InformerNameAndResource, given InformerMetricsProvider) InformerMetricsProvider {
	if !id.Reserved() {
		return nil
	}
	if given != nil {
		return given
	}
	if global := informerMetricsProvider.Load(); global != nil {
		return *global
	}
	return nil
}

// versionMetric shows a store's resourceVersion as a number. The zero value shows nothing.
type versionMetric struct {
	gauge GaugeMetric

	mu sync.Mutex // orders the calls of gauge
}

func newVersionMetric(id InformerNameAndResource, given InformerMetricsProvider) *versionMetric {
	m := &versionMetric{}
	if provider := providerFor(id, given); provider != nil {
		m.gauge = provider.NewStoreResourceVersionMetric(id)
	}
	return m
}

// update shows the result of version. It calls version with the lock held, so that an older version never follows a
// newer one.
func (m *versionMetric) update(version func() string) {
	if m == nil || m.gauge == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, ok := versionNumber(version()); ok {
		m.gauge.Set(n)
	}
}

// versionNumber is the number of the last 15 digits of a resourceVersion, which a float64 represents exactly. No version
// is 0.
func versionNumber(version string) (float64, bool) {
	if version == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(version[max(0, len(version)-15):], 10, 64)
	return float64(n), err == nil
}

// queueMetrics are those of one queue. The zero value drops everything.
type queueMetrics struct {
	queued  GaugeMetric
	latency HistogramMetric
}

func newQueueMetrics(id InformerNameAndResource, given InformerMetricsProvider) queueMetrics {
	provider := providerFor(id, given)
	if provider == nil {
		return queueMetrics{}
	}
	return queueMetrics{queued: provider.NewQueuedItemMetric(id), latency: provider.NewProcessingLatencyMetric(id)}
}

func (m queueMetrics) setQueued(n int) {
	if m.queued != nil {
		m.queued.Set(float64(n))
	}
}

func (m queueMetrics) observe(seconds float64) {
	if m.latency != nil {
		m.latency.Observe(seconds)
	}
}
