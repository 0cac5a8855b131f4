package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

func TestCollector_MakesMetricsOfStats(t *testing.T) {
	c := NewCollector(func() []sharedinformer.Stats {
		return []sharedinformer.Stats{{
			Name: "services", Objects: 3, QueueDepth: 2, Synced: true, ObjectErrors: 1,
			ResourceVersion: "1234567890123456", // 16 digits
			Reflector: reflector.Stats{
				StreamingLists: 1, PagedLists: 2, ListedObjects: 9, ListTime: time.Second,
				Watches: 4, ShortWatches: 1, EndedWatches: 3, WatchTime: time.Minute, Events: 8, Failures: 7,
			},
			Handlers: []sharedinformer.HandlerStats{{Name: "web", Depth: 4, Folds: 5, Delivered: 6}},
		}}
	})
	hooks := c.Hooks("services")
	for _, took := range []time.Duration{0, time.Millisecond, time.Millisecond + 1, time.Minute} {
		hooks.Processed(took)
	}
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP glasswatch_informer_failures_total Lists and watches that failed.
# TYPE glasswatch_informer_failures_total counter
glasswatch_informer_failures_total{informer="services"} 7
# HELP glasswatch_informer_handler_delivered_total Calls of the handler.
# TYPE glasswatch_informer_handler_delivered_total counter
glasswatch_informer_handler_delivered_total{handler="web",informer="services"} 6
# HELP glasswatch_informer_handler_depth Changes that wait for the handler.
# TYPE glasswatch_informer_handler_depth gauge
glasswatch_informer_handler_depth{handler="web",informer="services"} 4
# HELP glasswatch_informer_handler_folds_total Changes merged into one that waited already.
# TYPE glasswatch_informer_handler_folds_total counter
glasswatch_informer_handler_folds_total{handler="web",informer="services"} 5
# HELP glasswatch_informer_list_objects How many objects the complete lists had.
# TYPE glasswatch_informer_list_objects summary
glasswatch_informer_list_objects_sum{informer="services"} 9
glasswatch_informer_list_objects_count{informer="services"} 3
# HELP glasswatch_informer_list_seconds How long the complete lists took.
# TYPE glasswatch_informer_list_seconds summary
glasswatch_informer_list_seconds_sum{informer="services"} 1
glasswatch_informer_list_seconds_count{informer="services"} 3
# HELP glasswatch_informer_object_errors_total Objects that could not be read, transformed or indexed.
# TYPE glasswatch_informer_object_errors_total counter
glasswatch_informer_object_errors_total{informer="services"} 1
# HELP glasswatch_informer_objects Objects in the informer's store.
# TYPE glasswatch_informer_objects gauge
glasswatch_informer_objects{informer="services"} 3
# HELP glasswatch_informer_processing_seconds How long a batch took to the store and the backlogs.
# TYPE glasswatch_informer_processing_seconds histogram
glasswatch_informer_processing_seconds_bucket{informer="services",le="1e-05"} 1
glasswatch_informer_processing_seconds_bucket{informer="services",le="0.0001"} 1
glasswatch_informer_processing_seconds_bucket{informer="services",le="0.001"} 2
glasswatch_informer_processing_seconds_bucket{informer="services",le="0.01"} 3
glasswatch_informer_processing_seconds_bucket{informer="services",le="0.1"} 3
glasswatch_informer_processing_seconds_bucket{informer="services",le="1"} 3
glasswatch_informer_processing_seconds_bucket{informer="services",le="10"} 3
glasswatch_informer_processing_seconds_bucket{informer="services",le="+Inf"} 4
glasswatch_informer_processing_seconds_sum{informer="services"} 60.002000001
glasswatch_informer_processing_seconds_count{informer="services"} 4
# HELP glasswatch_informer_queue_depth Changes between the reflector and the store.
# TYPE glasswatch_informer_queue_depth gauge
glasswatch_informer_queue_depth{informer="services"} 2
# HELP glasswatch_informer_short_watches_total Watches of less than a second that brought nothing.
# TYPE glasswatch_informer_short_watches_total counter
glasswatch_informer_short_watches_total{informer="services"} 1
# HELP glasswatch_informer_store_resource_version Last 15 digits of the store's resourceVersion.
# TYPE glasswatch_informer_store_resource_version gauge
glasswatch_informer_store_resource_version{informer="services"} 2.34567890123456e+14
# HELP glasswatch_informer_synced 1 once the first list is in the store.
# TYPE glasswatch_informer_synced gauge
glasswatch_informer_synced{informer="services"} 1
# HELP glasswatch_informer_watch_events_total Objects that came on watches.
# TYPE glasswatch_informer_watch_events_total counter
glasswatch_informer_watch_events_total{informer="services"} 8
# HELP glasswatch_informer_watch_seconds How long the watches took that have ended.
# TYPE glasswatch_informer_watch_seconds summary
glasswatch_informer_watch_seconds_sum{informer="services"} 60
glasswatch_informer_watch_seconds_count{informer="services"} 3
# HELP glasswatch_informer_watches_total Watches that the server answered.
# TYPE glasswatch_informer_watches_total counter
glasswatch_informer_watches_total{informer="services"} 4
`)))
	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	require.Empty(t, problems)
}
