package sharedinformer

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestCollector_MakesMetricsOfStats(t *testing.T) {
	c := NewCollector(func() []Stats {
		return []Stats{{
			Name: "services", Objects: 3, QueueDepth: 2, Synced: true, ObjectErrors: 1,
			Handlers: []HandlerStats{{Name: "web", Depth: 4, Folds: 5, Delivered: 6}},
		}}
	})
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP glasswatch_informer_handler_delivered_total Calls of the handler.
# TYPE glasswatch_informer_handler_delivered_total counter
glasswatch_informer_handler_delivered_total{handler="web",informer="services"} 6
# HELP glasswatch_informer_handler_depth Changes that wait for the handler.
# TYPE glasswatch_informer_handler_depth gauge
glasswatch_informer_handler_depth{handler="web",informer="services"} 4
# HELP glasswatch_informer_handler_folds_total Changes merged into one that waited already.
# TYPE glasswatch_informer_handler_folds_total counter
glasswatch_informer_handler_folds_total{handler="web",informer="services"} 5
# HELP glasswatch_informer_object_errors_total Objects that could not be read, transformed or indexed.
# TYPE glasswatch_informer_object_errors_total counter
glasswatch_informer_object_errors_total{informer="services"} 1
# HELP glasswatch_informer_objects Objects in the informer's store.
# TYPE glasswatch_informer_objects gauge
glasswatch_informer_objects{informer="services"} 3
# HELP glasswatch_informer_queue_depth Changes between the reflector and the store.
# TYPE glasswatch_informer_queue_depth gauge
glasswatch_informer_queue_depth{informer="services"} 2
# HELP glasswatch_informer_synced 1 once the first list is in the store.
# TYPE glasswatch_informer_synced gauge
glasswatch_informer_synced{informer="services"} 1
`)))
	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	require.Empty(t, problems)
}
