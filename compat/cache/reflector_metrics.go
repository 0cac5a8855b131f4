package cache

import (
	"strconv"
	"sync/atomic"

	"glasswatch/reflector"
)

// reflectorMetricsProvider is the first provider that SetReflectorMetricsProvider got.
var reflectorMetricsProvider atomic.Pointer[MetricsProvider]

// SetReflectorMetricsProvider sets the provider of the metrics of reflectors that are made from then on. Only the first
// call has an effect. client-go has the function, but its metrics get no values.
func SetReflectorMetricsProvider(metricsProvider MetricsProvider) {
	reflectorMetricsProvider.CompareAndSwap(nil, &metricsProvider)
}

// reportReflectorMetrics has opts report the lists and watches of the reflector name, if there is a provider. r has the
// reflector once it runs.
func reportReflectorMetrics(name string, opts *reflector.Options, r *atomic.Pointer[reflector.Reflector[object]]) {
	p := reflectorMetricsProvider.Load()
	if p == nil {
		return
	}
	provider := *p
	lists, listSeconds, listed := provider.NewListsMetric(name), provider.NewListDurationMetric(name), provider.NewItemsInListMetric(name)
	watches, short := provider.NewWatchesMetric(name), provider.NewShortWatchesMetric(name)
	watchSeconds, watched := provider.NewWatchDurationMetric(name), provider.NewItemsInWatchMetric(name)
	version := provider.NewLastResourceVersionMetric(name)
	var last reflector.Stats
	// Each list and each watch ends with a transition.
	opts.OnTransition = func(_, _ reflector.State) {
		now := r.Load().Stats()
		if now.StreamingLists+now.PagedLists != last.StreamingLists+last.PagedLists {
			lists.Inc()
			listSeconds.Observe((now.ListTime - last.ListTime).Seconds())
			listed.Observe(float64(now.ListedObjects - last.ListedObjects))
		}
		if now.EndedWatches != last.EndedWatches {
			watches.Inc()
			watchSeconds.Observe((now.WatchTime - last.WatchTime).Seconds())
			watched.Observe(float64(now.Events - last.Events))
		}
		if now.ShortWatches != last.ShortWatches {
			short.Inc()
		}
		last = now
		if n, err := strconv.ParseUint(r.Load().LastSyncResourceVersion(), 10, 64); err == nil {
			version.Set(float64(n))
		}
	}
}
