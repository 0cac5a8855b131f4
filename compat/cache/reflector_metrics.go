package cache

import (
	"strconv"
	"sync/atomic"
	"time"

	"glasswatch/reflector"
)

// reflectorMetricsProvider is the first provider that SetReflectorMetricsProvider got.
var reflectorMetricsProvider atomic.Pointer[MetricsProvider]

// SetReflectorMetricsProvider sets the provider of the metrics of reflectors that are made from then on. Only the first
// call has an effect. client-go has the function, but its metrics get no values.
func SetReflectorMetricsProvider(metricsProvider MetricsProvider) {
	reflectorMetricsProvider.CompareAndSwap(nil, &metricsProvider)
}

// reportReflectorMetrics has opts report the lists and watches of the reflector name, if there is a provider.
func reportReflectorMetrics(name string, opts *reflector.Options, r interface{ LastSyncResourceVersion() string }) {
	p := reflectorMetricsProvider.Load()
	if p == nil {
		return
	}
	provider := *p
	lists, listSeconds, listed := provider.NewListsMetric(name), provider.NewListDurationMetric(name), provider.NewItemsInListMetric(name)
	watches, short := provider.NewWatchesMetric(name), provider.NewShortWatchesMetric(name)
	watchSeconds, watched := provider.NewWatchDurationMetric(name), provider.NewItemsInWatchMetric(name)
	version := provider.NewLastResourceVersionMetric(name)
	tellVersion := func() {
		if n, err := strconv.ParseUint(r.LastSyncResourceVersion(), 10, 64); err == nil {
			version.Set(float64(n))
		}
	}
	opts.OnList = func(objects int, took time.Duration) {
		lists.Inc()
		listSeconds.Observe(took.Seconds())
		listed.Observe(float64(objects))
		tellVersion()
	}
	opts.OnWatch = func(events int, took time.Duration) {
		watches.Inc()
		if events == 0 && took < time.Second {
			short.Inc()
		}
		watchSeconds.Observe(took.Seconds())
		watched.Observe(float64(events))
		tellVersion()
	}
}
