// Package metrics shows a controller's metrics, and those of its queue, to Prometheus.
//
//	controller.Options{Name: "web", Metrics: metrics.New(registry, "web")}
//
// The queue's metrics have client-go's names: workqueue_depth{name="web"} and so on. The controller's begin
// with controller_ and have the label controller. Controllers that share a Registerer need different names.
// [controller.Metrics] says what is reported when.
package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"glasswatch/controller"
)

// metrics are one controller's.
type metrics struct {
	reg      prometheus.Registerer
	name     string
	results  *prometheus.CounterVec // by how a reconcile ended
	panics   prometheus.Counter
	duration prometheus.Observer
	active   prometheus.Gauge

	// The queue's.
	depth, unfinished, longest prometheus.Gauge
	adds, retries              prometheus.Counter
	queued, worked             prometheus.Observer
}

// New registers the metrics of a controller of that name with reg, which must not be nil. If something else has the
// name of a metric, that is logged, and the metric is not shown.
func New(reg prometheus.Registerer, name string) controller.Metrics {
	c, q := family{reg, "controller", name}, family{reg, "name", name}
	results := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "controller_reconcile_total",
		Help: "Reconciles by how they ended: " +
			"success, requeue_after, error (to be retried), terminal, dropped (retried too often), cancelled.",
	}, []string{"controller", "result"})
	return &metrics{
		reg:     reg,
		name:    name,
		results: register(reg, results).MustCurryWith(prometheus.Labels{"controller": name}),
		panics: c.counter("controller_reconcile_panics_total",
			"Reconciles that panicked; they count among the others, too."),
		duration: c.histogram("controller_reconcile_time_seconds", "How long reconciles took.", 0.001, 2.5, 14),
		active:   c.gauge("controller_active_workers", "Workers that are reconciling a key."),

		depth:   q.gauge("workqueue_depth", "Items that are due and were not taken yet."),
		adds:    q.counter("workqueue_adds_total", "Items that became due."),
		retries: q.counter("workqueue_retries_total", "Items that were added with a delay."),
		queued: q.histogram("workqueue_queue_duration_seconds",
			"How long items were due before they were taken.", 1e-8, 10, 12),
		worked: q.histogram("workqueue_work_duration_seconds", "How long processing an item took.", 1e-8, 10, 12),
		unfinished: q.gauge("workqueue_unfinished_work_seconds",
			"How long the items in processing have been there, summed up."),
		longest: q.gauge("workqueue_longest_running_processor_seconds",
			"How long the item that has been in processing longest has been there."),
	}
}

func (m *metrics) Configured(workers int, tracked func() int) {
	family{m.reg, "controller", m.name}.gauge("controller_max_concurrent_reconciles", "Workers.").Set(float64(workers))
	register(m.reg, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "workqueue_tracked_retries", Help: "Items that the rate limiter remembers retries of.",
		ConstLabels: prometheus.Labels{"name": m.name},
	}, func() float64 { return float64(tracked()) }))
}

func (m *metrics) Began() { m.active.Inc() }

func (m *metrics) Ended(result string, took time.Duration, err error) {
	m.active.Dec()
	m.duration.Observe(took.Seconds())
	m.results.WithLabelValues(result).Inc()
	if _, panicked := errors.AsType[*controller.PanicError](err); panicked {
		m.panics.Inc()
	}
}

func (m *metrics) Added() {
	m.adds.Inc()
	m.depth.Inc()
}

func (m *metrics) Taken(queued time.Duration) {
	m.depth.Dec()
	m.queued.Observe(queued.Seconds())
}

func (m *metrics) Finished(worked time.Duration) { m.worked.Observe(worked.Seconds()) }

func (m *metrics) Retried() { m.retries.Inc() }

func (m *metrics) Unfinished(total, longest time.Duration) {
	m.unfinished.Set(total.Seconds())
	m.longest.Set(longest.Seconds())
}

// family makes metrics with one label: the name of the controller, or of its queue.
type family struct {
	reg         prometheus.Registerer
	label, name string
}

func (f family) gauge(metric, help string) prometheus.Gauge {
	opts := prometheus.GaugeOpts{Name: metric, Help: help}
	return register(f.reg, prometheus.NewGaugeVec(opts, []string{f.label})).WithLabelValues(f.name)
}

func (f family) counter(metric, help string) prometheus.Counter {
	opts := prometheus.CounterOpts{Name: metric, Help: help}
	return register(f.reg, prometheus.NewCounterVec(opts, []string{f.label})).WithLabelValues(f.name)
}

// histogram has n buckets. The first one ends at first, each further one at factor times the one before.
func (f family) histogram(metric, help string, first, factor float64, n int) prometheus.Observer {
	opts := prometheus.HistogramOpts{
		Name: metric, Help: help, Buckets: prometheus.ExponentialBuckets(first, factor, n),
	}
	return register(f.reg, prometheus.NewHistogramVec(opts, []string{f.label})).WithLabelValues(f.name)
}

// register returns c, or the collector of the same name that another controller has registered before.
func register[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	err := reg.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing
		}
	}
	if err != nil {
		klog.Background().Error(err, "Could not register a metric")
	}
	return c
}
