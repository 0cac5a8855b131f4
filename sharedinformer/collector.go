package sharedinformer

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// collector makes metrics of Stats when it is scraped; between scrapes it costs nothing.
type collector struct {
	read func() []Stats
}

var (
	informerLabels = []string{"informer"}
	handlerLabels  = []string{"informer", "handler"}

	objectsDesc      = prometheus.NewDesc("glasswatch_informer_objects", "Objects in the informer's store.", informerLabels, nil)
	queueDepthDesc   = prometheus.NewDesc("glasswatch_informer_queue_depth", "Changes between the reflector and the store.", informerLabels, nil)
	syncedDesc       = prometheus.NewDesc("glasswatch_informer_synced", "1 once the first list is in the store.", informerLabels, nil)
	objectErrorsDesc = prometheus.NewDesc("glasswatch_informer_object_errors_total", "Objects that could not be read, transformed or indexed.", informerLabels, nil)
	depthDesc        = prometheus.NewDesc("glasswatch_informer_handler_depth", "Changes that wait for the handler.", handlerLabels, nil)
	foldsDesc        = prometheus.NewDesc("glasswatch_informer_handler_folds_total", "Changes merged into one that waited already.", handlerLabels, nil)
	deliveredDesc    = prometheus.NewDesc("glasswatch_informer_handler_delivered_total", "Calls of the handler.", handlerLabels, nil)
)

// NewCollector returns a prometheus.Collector of what read returns at each scrape, for instance [Factory.Stats]. Two
// informers of one name are a scrape's error.
func NewCollector(read func() []Stats) prometheus.Collector { return collector{read} }

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{objectsDesc, queueDepthDesc, syncedDesc, objectErrorsDesc, depthDesc, foldsDesc, deliveredDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	for _, s := range c.read() {
		synced := 0.0
		if s.Synced {
			synced = 1
		}
		gauge(objectsDesc, float64(s.Objects), s.Name)
		gauge(queueDepthDesc, float64(s.QueueDepth), s.Name)
		gauge(syncedDesc, synced, s.Name)
		counter(objectErrorsDesc, s.ObjectErrors, s.Name)
		for _, h := range s.Handlers {
			h.Name = strings.ToValidUTF8(h.Name, "\uFFFD") // labels must be
			gauge(depthDesc, float64(h.Depth), s.Name, h.Name)
			counter(foldsDesc, h.Folds, s.Name, h.Name)
			counter(deliveredDesc, h.Delivered, s.Name, h.Name)
		}
	}
}
