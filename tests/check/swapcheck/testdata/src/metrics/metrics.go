// Package metrics registers client-go's metrics.
package metrics

import (
	_ "k8s.io/component-base/metrics/prometheus/clientgo"      // want "^k8s.io/component-base/metrics/prometheus/clientgo: different: .*SetProvider; .*SetInformerMetricsProvider$"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/fifo" // want "different: .*SetInformerMetricsProvider$"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"     // want "different: .*SetProvider$"
)
