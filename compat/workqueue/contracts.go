package workqueue

import clientgo "k8s.io/client-go/util/workqueue"

// The interfaces of queues and limiters.
type (
	// TypedInterface is client-go's, see there.
	TypedInterface[T comparable] = clientgo.TypedInterface[T]
	// TypedDelayingInterface is client-go's, see there.
	TypedDelayingInterface[T comparable] = clientgo.TypedDelayingInterface[T]
	// TypedRateLimitingInterface is client-go's, see there.
	TypedRateLimitingInterface[T comparable] = clientgo.TypedRateLimitingInterface[T]
	// TypedRateLimiter is client-go's, see there.
	TypedRateLimiter[T comparable] = clientgo.TypedRateLimiter[T]
	// Queue is client-go's, see there. glasswatch's Order has the same methods.
	Queue[T comparable] = clientgo.Queue[T]
)

// The configurations. All fields are optional.
type (
	// TypedQueueConfig is client-go's, see there. Its Clock has no effect: metrics measure the real time.
	TypedQueueConfig[T comparable] = clientgo.TypedQueueConfig[T]
	// TypedDelayingQueueConfig is client-go's, see there.
	TypedDelayingQueueConfig[T comparable] = clientgo.TypedDelayingQueueConfig[T]
	// TypedRateLimitingQueueConfig is client-go's, see there.
	TypedRateLimitingQueueConfig[T comparable] = clientgo.TypedRateLimitingQueueConfig[T]
)

// The interfaces of metrics.
type (
	// MetricsProvider is client-go's, see there.
	MetricsProvider = clientgo.MetricsProvider
	// GaugeMetric is client-go's, see there.
	GaugeMetric = clientgo.GaugeMetric
	// SettableGaugeMetric is client-go's, see there.
	SettableGaugeMetric = clientgo.SettableGaugeMetric
	// CounterMetric is client-go's, see there.
	CounterMetric = clientgo.CounterMetric
	// SummaryMetric is client-go's, see there.
	SummaryMetric = clientgo.SummaryMetric
	// HistogramMetric is client-go's, see there.
	HistogramMetric = clientgo.HistogramMetric
)

// DoWorkPieceFunc is client-go's, see there.
type DoWorkPieceFunc = clientgo.DoWorkPieceFunc
