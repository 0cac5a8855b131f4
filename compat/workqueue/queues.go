package workqueue

import (
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"glasswatch/workqueue"
)

// Typed is a queue without delays, which is glasswatch's. A TypedInterface made by this package is a *Typed.
type Typed[T comparable] = workqueue.Queue[T]

// NewTyped returns a queue without delays, name or metrics.
func NewTyped[T comparable]() *Typed[T] { return NewTypedWithConfig(TypedQueueConfig[T]{}) }

// NewTypedWithConfig returns a queue without delays.
func NewTypedWithConfig[T comparable](config TypedQueueConfig[T]) *Typed[T] {
	return workqueue.New(workqueue.Options[T]{
		Name:       config.Name,
		Metrics:    metricsOf(config.Name, config.MetricsProvider, noRetries),
		Order:      config.Queue,
		DrainTaken: true,
	})
}

// NewTypedDelayingQueue returns a queue with delays and without name or metrics.
func NewTypedDelayingQueue[T comparable]() TypedDelayingInterface[T] {
	return NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[T]{})
}

// NewTypedDelayingQueueWithConfig returns a queue with delays: a *workqueue.DelayingQueue of glasswatch, unless the
// config has a Queue or a Clock other than the real one, which take a layer between.
func NewTypedDelayingQueueWithConfig[T comparable](config TypedDelayingQueueConfig[T]) TypedDelayingInterface[T] {
	if config.Queue == nil && isReal(config.Clock) {
		return workqueue.NewDelaying(workqueue.Options[T]{
			Name:       config.Name,
			Metrics:    metricsOf(config.Name, config.MetricsProvider, withRetries),
			DrainTaken: true,
		})
	}
	if config.Queue == nil {
		config.Queue = NewTypedWithConfig(TypedQueueConfig[T]{Name: config.Name, MetricsProvider: config.MetricsProvider})
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	q := &delayingOver[T]{
		TypedInterface: config.Queue,
		clock:          config.Clock,
		logger:         klog.Background(),
		retries:        retriesOf(config.Name, config.MetricsProvider),
	}
	if config.Logger != nil {
		q.logger = *config.Logger
	}
	q.init()
	return q
}

// NewTypedRateLimitingQueue returns a queue with delays and a rate limiter and without name or metrics.
func NewTypedRateLimitingQueue[T comparable](rateLimiter TypedRateLimiter[T]) TypedRateLimitingInterface[T] {
	return NewTypedRateLimitingQueueWithConfig(rateLimiter, TypedRateLimitingQueueConfig[T]{})
}

// NewTypedRateLimitingQueueWithConfig returns a queue with delays and a rate limiter: a *workqueue.RateLimitingQueue of
// glasswatch, unless the config has a DelayingQueue or a Clock that is not the real one. nil is the default limiter.
func NewTypedRateLimitingQueueWithConfig[T comparable](rateLimiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T]) TypedRateLimitingInterface[T] {
	if rateLimiter == nil {
		rateLimiter = DefaultTypedControllerRateLimiter[T]()
	}
	if config.DelayingQueue == nil && isReal(config.Clock) {
		return workqueue.NewRateLimiting(workqueue.Options[T]{
			Name:        config.Name,
			RateLimiter: rateLimiter,
			Metrics:     metricsOf(config.Name, config.MetricsProvider, withRetries),
			DrainTaken:  true,
		})
	}
	if config.DelayingQueue == nil {
		config.DelayingQueue = NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[T]{
			Name:            config.Name,
			MetricsProvider: config.MetricsProvider,
			Clock:           config.Clock,
		})
	}
	return &rateLimitingOver[T]{TypedDelayingInterface: config.DelayingQueue, limiter: rateLimiter}
}

// rateLimitingOver adds a rate limiter to a delaying queue of any implementation.
type rateLimitingOver[T comparable] struct {
	TypedDelayingInterface[T]
	limiter TypedRateLimiter[T]
}

func (q *rateLimitingOver[T]) AddRateLimited(item T)  { q.AddAfter(item, q.limiter.When(item)) }
func (q *rateLimitingOver[T]) Forget(item T)          { q.limiter.Forget(item) }
func (q *rateLimitingOver[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// isReal reports whether c is the real clock, which glasswatch's queues use anyway.
func isReal(c clock.WithTicker) bool {
	switch c.(type) {
	case nil, clock.RealClock, *clock.RealClock:
		return true
	}
	return false
}

// DefaultQueue returns storage that hands items out in order of arrival. A config without a Queue does the same faster.
func DefaultQueue[T comparable]() Queue[T] { return new(fifo[T]) }

// fifo is a ring that grows as needed and shrinks when a quarter full.
type fifo[T comparable] struct {
	ring       []T
	first, len int
}

const smallestRing = 16

// Touch does nothing: an item added again keeps its place.
func (f *fifo[T]) Touch(T) {}

func (f *fifo[T]) Push(item T) {
	if f.len == len(f.ring) {
		f.resize(max(2*f.len, smallestRing))
	}
	f.ring[(f.first+f.len)%len(f.ring)] = item
	f.len++
}

func (f *fifo[T]) Len() int { return f.len }

// Pop panics if there is nothing, as client-go's does.
func (f *fifo[T]) Pop() (item T) {
	if f.len == 0 {
		panic("workqueue: Pop of an empty queue")
	}
	// The slot is zeroed: it must not keep the item's memory alive.
	item, f.ring[f.first] = f.ring[f.first], item
	f.first = (f.first + 1) % len(f.ring)
	f.len--
	if len(f.ring) > smallestRing && f.len <= len(f.ring)/4 {
		f.resize(len(f.ring) / 2)
	}
	return item
}

func (f *fifo[T]) resize(slots int) {
	ring := make([]T, slots)
	for i := range f.len {
		ring[i] = f.ring[(f.first+i)%len(f.ring)]
	}
	f.ring, f.first = ring, 0
}
