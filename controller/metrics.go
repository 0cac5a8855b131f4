package controller

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"glasswatch/workqueue"
)

// metrics are one controller's; without a Registerer they are counted and nobody reads them.
type metrics struct {
	results  *prometheus.CounterVec // by outcome
	panics   prometheus.Counter
	duration prometheus.Observer
	active   prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, name string, workers int, tracked func() int) *metrics {
	label := []string{"controller"}
	results := register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "controller_reconcile_total",
		Help: "Reconciles by how they ended: success, requeue_after, error (to be retried), terminal, dropped (retried too often), cancelled.",
	}, []string{"controller", "result"}))
	panics := register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "controller_reconcile_panics_total", Help: "Reconciles that panicked; they count among the others, too.",
	}, label))
	duration := register(reg, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "controller_reconcile_time_seconds", Help: "How long reconciles took.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 14),
	}, label))
	active := register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "controller_active_workers", Help: "Workers that are reconciling a key.",
	}, label))
	register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "controller_max_concurrent_reconciles", Help: "Workers.",
	}, label)).WithLabelValues(name).Set(float64(workers))
	if reg != nil {
		register(reg, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "workqueue_tracked_retries", Help: "Items that the rate limiter remembers retries of.",
			ConstLabels: prometheus.Labels{"name": name},
		}, func() float64 { return float64(tracked()) }))
	}
	return &metrics{
		results:  results.MustCurryWith(prometheus.Labels{"controller": name}),
		panics:   panics.WithLabelValues(name),
		duration: duration.WithLabelValues(name),
		active:   active.WithLabelValues(name),
	}
}

// register returns c, or the collector of the same name that another controller registered before. A name that is taken by
// something else is logged, and the metric is not to be seen.
func register[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	if reg == nil {
		return c
	}
	err := reg.Register(c)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing
		}
	}
	if err != nil {
		klog.Background().Error(err, "Could not register a metric")
	}
	return c
}

// queueMetrics adapt the queue's hooks.
type queueMetrics struct {
	depth, unfinished, longest prometheus.Gauge
	adds, retries              prometheus.Counter
	latency, duration          prometheus.Observer
}

// NewQueueMetrics returns metrics for a queue of that name, under client-go's names: workqueue_depth{name=…} and so on.
// Queues of different names share the Registerer, which must not be nil.
func NewQueueMetrics(reg prometheus.Registerer, name string) workqueue.Metrics {
	label := []string{"name"}
	gauge := func(metric, help string) prometheus.Gauge {
		opts := prometheus.GaugeOpts{Name: "workqueue_" + metric, Help: help}
		return register(reg, prometheus.NewGaugeVec(opts, label)).WithLabelValues(name)
	}
	counter := func(metric, help string) prometheus.Counter {
		opts := prometheus.CounterOpts{Name: "workqueue_" + metric, Help: help}
		return register(reg, prometheus.NewCounterVec(opts, label)).WithLabelValues(name)
	}
	histogram := func(metric, help string) prometheus.Observer {
		opts := prometheus.HistogramOpts{
			Name: "workqueue_" + metric, Help: help, Buckets: prometheus.ExponentialBuckets(1e-8, 10, 12),
		}
		return register(reg, prometheus.NewHistogramVec(opts, label)).WithLabelValues(name)
	}
	return &queueMetrics{
		depth:      gauge("depth", "Items that are due and were not taken yet."),
		adds:       counter("adds_total", "Items that became due."),
		latency:    histogram("queue_duration_seconds", "How long items were due before they were taken."),
		duration:   histogram("work_duration_seconds", "How long processing an item took."),
		unfinished: gauge("unfinished_work_seconds", "How long the items in processing have been there, summed up."),
		longest:    gauge("longest_running_processor_seconds", "How long the item that has been in processing longest has been there."),
		retries:    counter("retries_total", "Items that were added with a delay."),
	}
}

func (m *queueMetrics) Added() {
	m.adds.Inc()
	m.depth.Inc()
}

func (m *queueMetrics) Taken(queued time.Duration) {
	m.depth.Dec()
	m.latency.Observe(queued.Seconds())
}

func (m *queueMetrics) Finished(worked time.Duration) { m.duration.Observe(worked.Seconds()) }
func (m *queueMetrics) Retried()                      { m.retries.Inc() }

func (m *queueMetrics) Unfinished(total, longest time.Duration) {
	m.unfinished.Set(total.Seconds())
	m.longest.Set(longest.Seconds())
}
