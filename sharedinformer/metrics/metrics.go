// Package metrics shows what informers count to Prometheus. A [Collector] reads their Stats at each scrape; between
// scrapes that costs nothing. Its Hooks measure how long batches take.
//
//	c := metrics.NewCollector(func() []sharedinformer.Stats { return []sharedinformer.Stats{pods.Stats()} })
//	pods = sharedinformer.New(lw, sharedinformer.Options[*corev1.Pod]{Name: "pods", Metrics: c.Hooks("pods")})
//	registry.MustRegister(c)
package metrics

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"glasswatch/sharedinformer"
)

// Collector is a prometheus.Collector of what informers count. Its methods are safe for concurrent use.
type Collector struct {
	read       func() []sharedinformer.Stats
	processing *prometheus.HistogramVec // by the informer's name
}

var (
	objectsDesc      = informerDesc("objects", "Objects in the informer's store.")
	queueDepthDesc   = informerDesc("queue_depth", "Changes between the reflector and the store.")
	storeVersionDesc = informerDesc("store_resource_version", "Last 15 digits of the store's resourceVersion.")
	lastVersionDesc  = informerDesc("last_resource_version", "Last 15 digits of the reflector's resourceVersion.")
	syncedDesc       = informerDesc("synced", "1 once the first list is in the store.")
	objectErrorsDesc = informerDesc("object_errors_total", "Objects that could not be read, transformed or indexed.")

	listDesc         = informerDesc("list_seconds", "How long the complete lists took.")
	listObjectsDesc  = informerDesc("list_objects", "How many objects the complete lists had.")
	watchesDesc      = informerDesc("watches_total", "Watches that the server answered.")
	shortWatchesDesc = informerDesc("short_watches_total", "Watches of less than a second that brought nothing.")
	watchDesc        = informerDesc("watch_seconds", "How long the watches took that have ended.")
	eventsDesc       = informerDesc("watch_events_total", "Objects that came on watches.")
	failuresDesc     = informerDesc("failures_total", "Lists and watches that failed.")

	depthDesc     = handlerDesc("depth", "Changes that wait for the handler.")
	foldsDesc     = handlerDesc("folds_total", "Changes merged into one that waited already.")
	deliveredDesc = handlerDesc("delivered_total", "Calls of the handler.")

	allDescs = []*prometheus.Desc{
		objectsDesc, queueDepthDesc, storeVersionDesc, lastVersionDesc, syncedDesc, objectErrorsDesc,
		listDesc, listObjectsDesc, watchesDesc, shortWatchesDesc, watchDesc, eventsDesc, failuresDesc,
		depthDesc, foldsDesc, deliveredDesc,
	}
)

func informerDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("glasswatch_informer_"+name, help, []string{"informer"}, nil)
}

func handlerDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("glasswatch_informer_handler_"+name, help, []string{"informer", "handler"}, nil)
}

// processingOptions are those of the histogram. Its buckets are in seconds.
var processingOptions = prometheus.HistogramOpts{
	Name:    "glasswatch_informer_processing_seconds",
	Help:    "How long a batch took to the store and the backlogs.",
	Buckets: []float64{1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10},
}

// NewCollector returns a collector of what read returns at each scrape, such as a factory's Stats. Two informers of one
// name are a scrape's error.
func NewCollector(read func() []sharedinformer.Stats) *Collector {
	return &Collector{read: read, processing: prometheus.NewHistogramVec(processingOptions, []string{"informer"})}
}

// Hooks returns the Metrics for an informer of that name. Without them the informer has no processing_seconds. A
// factory's Options.Metrics may be this method.
func (c *Collector) Hooks(informer string) sharedinformer.Metrics {
	processing := c.processing.WithLabelValues(informer)
	return sharedinformer.Metrics{Processed: func(took time.Duration) { processing.Observe(took.Seconds()) }}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	c.processing.Describe(ch)
	for _, d := range allDescs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.processing.Collect(ch)
	for _, s := range c.read() {
		m := metrics{ch, []string{s.Name}}
		m.informer(&s)
		m.reflector(&s)
		for _, h := range s.Handlers {
			metrics{ch, []string{s.Name, strings.ToValidUTF8(h.Name, "\uFFFD")}}.handler(&h) // labels must be
		}
	}
}

// metrics makes metrics with the same labels.
type metrics struct {
	ch     chan<- prometheus.Metric
	labels []string
}

func (m metrics) gauge(d *prometheus.Desc, v float64) {
	m.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, m.labels...)
}

func (m metrics) counter(d *prometheus.Desc, v uint64) {
	m.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), m.labels...)
}

func (m metrics) summary(d *prometheus.Desc, count uint64, sum float64) {
	m.ch <- prometheus.MustNewConstSummary(d, count, sum, nil, m.labels...)
}

// version leaves out what is not known. A float64 is exact up to 15 digits.
func (m metrics) version(d *prometheus.Desc, version string) {
	if v, err := strconv.ParseUint(version[max(0, len(version)-15):], 10, 64); err == nil {
		m.gauge(d, float64(v))
	}
}

func (m metrics) informer(s *sharedinformer.Stats) {
	synced := 0.0
	if s.Synced {
		synced = 1
	}
	m.gauge(objectsDesc, float64(s.Objects))
	m.gauge(queueDepthDesc, float64(s.QueueDepth))
	m.version(storeVersionDesc, s.ResourceVersion)
	m.version(lastVersionDesc, s.LastSyncResourceVersion)
	m.gauge(syncedDesc, synced)
	m.counter(objectErrorsDesc, s.ObjectErrors)
}

func (m metrics) reflector(of *sharedinformer.Stats) {
	s := &of.Reflector
	lists := s.StreamingLists + s.PagedLists
	m.summary(listDesc, lists, s.ListTime.Seconds())
	m.summary(listObjectsDesc, lists, float64(s.ListedObjects))
	m.counter(watchesDesc, s.Watches)
	m.counter(shortWatchesDesc, s.ShortWatches)
	m.summary(watchDesc, s.EndedWatches, s.WatchTime.Seconds())
	m.counter(eventsDesc, s.Events)
	m.counter(failuresDesc, s.Failures)
}

func (m metrics) handler(s *sharedinformer.HandlerStats) {
	m.gauge(depthDesc, float64(s.Depth))
	m.counter(foldsDesc, s.Folds)
	m.counter(deliveredDesc, s.Delivered)
}
