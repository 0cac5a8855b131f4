package workqueue

import (
	"time"

	"glasswatch/workqueue"
)

// The limiters are glasswatch's. Limiters that remember items remember the last 100,000 that failed. The field
// MaxTracked changes that number; the methods Tracked and Evicted count items.
type (
	// TypedBucketRateLimiter limits all items together by a token bucket, its field Limiter.
	TypedBucketRateLimiter[T comparable] = workqueue.BucketRateLimiter[T]
	// TypedItemExponentialFailureRateLimiter doubles an item's delay with each retry.
	TypedItemExponentialFailureRateLimiter[T comparable] = workqueue.ItemExponentialFailureRateLimiter[T]
	// TypedItemFastSlowRateLimiter gives an item's first retries a short delay, and all further ones a long one.
	TypedItemFastSlowRateLimiter[T comparable] = workqueue.ItemFastSlowRateLimiter[T]
	// TypedMaxOfRateLimiter calls several limiters and returns the longest delay.
	TypedMaxOfRateLimiter[T comparable] = workqueue.MaxOfRateLimiter[T]
	// TypedWithMaxWaitRateLimiter caps the delays of another limiter.
	TypedWithMaxWaitRateLimiter[T comparable] = workqueue.WithMaxWaitRateLimiter[T]
)

// NewTypedItemExponentialFailureRateLimiter returns a limiter whose delays are baseDelay, twice that, four times that and
// so on, never above maxDelay.
func NewTypedItemExponentialFailureRateLimiter[T comparable](baseDelay time.Duration, maxDelay time.Duration) TypedRateLimiter[T] {
	return workqueue.NewItemExponentialFailureRateLimiter[T](baseDelay, maxDelay)
}

// NewTypedItemFastSlowRateLimiter returns a limiter whose delay is fastDelay for an item's first maxFastAttempts retries and
// slowDelay from then on.
func NewTypedItemFastSlowRateLimiter[T comparable](fastDelay, slowDelay time.Duration, maxFastAttempts int) TypedRateLimiter[T] {
	return workqueue.NewItemFastSlowRateLimiter[T](fastDelay, slowDelay, maxFastAttempts)
}

// NewTypedMaxOfRateLimiter returns a limiter that calls the given ones, none of which may be nil.
func NewTypedMaxOfRateLimiter[T comparable](limiters ...TypedRateLimiter[T]) TypedRateLimiter[T] {
	ours := make([]workqueue.RateLimiter[T], len(limiters))
	for i, l := range limiters {
		ours[i] = l
	}
	return workqueue.NewMaxOfRateLimiter(ours...)
}

// NewTypedWithMaxWaitRateLimiter returns a limiter whose delays are those of limiter, which must not be nil, but never above
// maxDelay.
func NewTypedWithMaxWaitRateLimiter[T comparable](limiter TypedRateLimiter[T], maxDelay time.Duration) TypedRateLimiter[T] {
	return workqueue.NewWithMaxWaitRateLimiter(workqueue.RateLimiter[T](limiter), maxDelay)
}

// DefaultTypedControllerRateLimiter returns a limiter for most controllers. Each item waits 5 ms after its first
// failure, and twice as long after each other, up to 1000 s. All items share a token bucket: 10 retries a second, burst
// 100.
func DefaultTypedControllerRateLimiter[T comparable]() TypedRateLimiter[T] {
	return workqueue.DefaultControllerRateLimiter[T]()
}

// DefaultTypedItemBasedRateLimiter returns a limiter that knows only the item: 1 ms after its first failure, twice as long
// after each other, up to 1000 s.
func DefaultTypedItemBasedRateLimiter[T comparable]() TypedRateLimiter[T] {
	return NewTypedItemExponentialFailureRateLimiter[T](time.Millisecond, 1000*time.Second)
}
