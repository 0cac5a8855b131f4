package workqueue

import (
	"time"

	clientgo "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

//lint:file-ignore SA1019 these names are client-go's deprecated ones

// The names from before type parameters. Each is the name behind "use", for items of any type.
type (
	// Deprecated: use TypedInterface.
	Interface = clientgo.Interface
	// Deprecated: use TypedDelayingInterface.
	DelayingInterface = clientgo.DelayingInterface
	// Deprecated: use TypedRateLimitingInterface.
	RateLimitingInterface = clientgo.RateLimitingInterface
	// Deprecated: use TypedRateLimiter.
	RateLimiter = clientgo.RateLimiter

	// Deprecated: use TypedQueueConfig.
	QueueConfig = TypedQueueConfig[any]
	// Deprecated: use TypedDelayingQueueConfig.
	DelayingQueueConfig = TypedDelayingQueueConfig[any]
	// Deprecated: use TypedRateLimitingQueueConfig.
	RateLimitingQueueConfig = TypedRateLimitingQueueConfig[any]

	// Deprecated: use Typed.
	Type = Typed[any]
	// Deprecated: use TypedBucketRateLimiter.
	BucketRateLimiter = TypedBucketRateLimiter[any]
	// Deprecated: use TypedItemExponentialFailureRateLimiter.
	ItemExponentialFailureRateLimiter = TypedItemExponentialFailureRateLimiter[any]
	// Deprecated: use TypedItemFastSlowRateLimiter.
	ItemFastSlowRateLimiter = TypedItemFastSlowRateLimiter[any]
	// Deprecated: use TypedMaxOfRateLimiter.
	MaxOfRateLimiter = TypedMaxOfRateLimiter[any]
	// Deprecated: use TypedWithMaxWaitRateLimiter.
	WithMaxWaitRateLimiter = TypedWithMaxWaitRateLimiter[any]
)

// Deprecated: use NewTyped.
func New() *Type { return NewTyped[any]() }

// Deprecated: use NewTypedWithConfig.
func NewNamed(name string) *Type { return NewTypedWithConfig(QueueConfig{Name: name}) }

// Deprecated: use NewTypedWithConfig.
func NewWithConfig(config QueueConfig) *Type { return NewTypedWithConfig(config) }

// Deprecated: use NewTypedDelayingQueue.
func NewDelayingQueue() DelayingInterface { return NewTypedDelayingQueue[any]() }

// Deprecated: use NewTypedDelayingQueue.
func TypedNewDelayingQueue[T comparable]() TypedDelayingInterface[T] {
	return NewTypedDelayingQueue[T]()
}

// Deprecated: use NewTypedDelayingQueueWithConfig.
func NewNamedDelayingQueue(name string) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(DelayingQueueConfig{Name: name})
}

// Deprecated: use NewTypedDelayingQueueWithConfig.
func NewDelayingQueueWithConfig(config DelayingQueueConfig) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(config)
}

// Deprecated: use NewTypedDelayingQueueWithConfig.
func NewDelayingQueueWithCustomQueue(q Interface, name string) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(DelayingQueueConfig{Name: name, Queue: q})
}

// Deprecated: use NewTypedDelayingQueueWithConfig.
func NewDelayingQueueWithCustomClock(clock clock.WithTicker, name string) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(DelayingQueueConfig{Name: name, Clock: clock})
}

// Deprecated: use NewTypedRateLimitingQueue.
func NewRateLimitingQueue(rateLimiter RateLimiter) RateLimitingInterface {
	return NewTypedRateLimitingQueue[any](rateLimiter)
}

// Deprecated: use NewTypedRateLimitingQueueWithConfig.
func NewNamedRateLimitingQueue(rateLimiter RateLimiter, name string) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig(rateLimiter, RateLimitingQueueConfig{Name: name})
}

// Deprecated: use NewTypedRateLimitingQueueWithConfig.
func NewRateLimitingQueueWithConfig(rateLimiter RateLimiter, config RateLimitingQueueConfig) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig(rateLimiter, config)
}

// Deprecated: use NewTypedRateLimitingQueueWithConfig.
func NewRateLimitingQueueWithDelayingInterface(di DelayingInterface, rateLimiter RateLimiter) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig(rateLimiter, RateLimitingQueueConfig{DelayingQueue: di})
}

// Deprecated: use DefaultTypedControllerRateLimiter.
func DefaultControllerRateLimiter() RateLimiter { return DefaultTypedControllerRateLimiter[any]() }

// Deprecated: use DefaultTypedItemBasedRateLimiter.
func DefaultItemBasedRateLimiter() RateLimiter { return DefaultTypedItemBasedRateLimiter[any]() }

// Deprecated: use NewTypedItemExponentialFailureRateLimiter.
func NewItemExponentialFailureRateLimiter(baseDelay time.Duration, maxDelay time.Duration) RateLimiter {
	return NewTypedItemExponentialFailureRateLimiter[any](baseDelay, maxDelay)
}

// Deprecated: use NewTypedItemFastSlowRateLimiter.
func NewItemFastSlowRateLimiter(fastDelay, slowDelay time.Duration, maxFastAttempts int) RateLimiter {
	return NewTypedItemFastSlowRateLimiter[any](fastDelay, slowDelay, maxFastAttempts)
}

// Deprecated: use NewTypedMaxOfRateLimiter.
func NewMaxOfRateLimiter(limiters ...TypedRateLimiter[any]) RateLimiter {
	return NewTypedMaxOfRateLimiter(limiters...)
}

// Deprecated: use NewTypedWithMaxWaitRateLimiter.
func NewWithMaxWaitRateLimiter(limiter RateLimiter, maxDelay time.Duration) RateLimiter {
	return NewTypedWithMaxWaitRateLimiter[any](limiter, maxDelay)
}
