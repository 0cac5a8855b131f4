package workqueue

import (
	"time"

	"glasswatch/workqueue/limiters"
)

// The limiters are glasswatch's. Those that remember items remember the last 100,000 that failed; their fields and
// methods beyond client-go's (MaxTracked, Tracked, Evicted) change and show that.
type (
	// TypedBucketRateLimiter limits all items together by a token bucket, its field Limiter.
	TypedBucketRateLimiter[T comparable] = limiters.BucketRateLimiter[T]
	// TypedItemExponentialFailureRateLimiter doubles an item's delay with each retry.
	TypedItemExponentialFailureRateLimiter[T comparable] = limiters.ItemExponentialFailureRateLimiter[T]
	// TypedItemFastSlowRateLimiter gives an item's first retries a short delay, and all further ones a long one.
	TypedItemFastSlowRateLimiter[T comparable] = limiters.ItemFastSlowRateLimiter[T]
	// TypedMaxOfRateLimiter asks several limiters, and the longest delay counts.
	TypedMaxOfRateLimiter[T comparable] = limiters.MaxOfRateLimiter[T]
	// TypedWithMaxWaitRateLimiter caps the delays of another limiter.
	TypedWithMaxWaitRateLimiter[T comparable] = limiters.WithMaxWaitRateLimiter[T]
)

// NewTypedItemExponentialFailureRateLimiter returns a limiter whose delays are baseDelay, twice that, four times that
// and so on, never above maxDelay.
func NewTypedItemExponentialFailureRateLimiter[T comparable](baseDelay time.Duration, maxDelay time.Duration) TypedRateLimiter[T] {
	return limiters.NewItemExponentialFailureRateLimiter[T](baseDelay, maxDelay)
}

// NewTypedItemFastSlowRateLimiter returns a limiter whose delay is fastDelay for an item's first maxFastAttempts
// retries and slowDelay from then on.
func NewTypedItemFastSlowRateLimiter[T comparable](fastDelay, slowDelay time.Duration, maxFastAttempts int) TypedRateLimiter[T] {
	return limiters.NewItemFastSlowRateLimiter[T](fastDelay, slowDelay, maxFastAttempts)
}

// NewTypedMaxOfRateLimiter returns a limiter that asks the given ones, none of which may be nil.
func NewTypedMaxOfRateLimiter[T comparable](asked ...TypedRateLimiter[T]) TypedRateLimiter[T] {
	ours := make([]limiters.RateLimiter[T], len(asked))
	for i, l := range asked {
		ours[i] = l
	}
	return limiters.NewMaxOfRateLimiter(ours...)
}

// NewTypedWithMaxWaitRateLimiter returns a limiter whose delays are those of limiter, which must not be nil, but never
// above maxDelay.
func NewTypedWithMaxWaitRateLimiter[T comparable](limiter TypedRateLimiter[T], maxDelay time.Duration) TypedRateLimiter[T] {
	return limiters.NewWithMaxWaitRateLimiter(limiters.RateLimiter[T](limiter), maxDelay)
}

// DefaultTypedControllerRateLimiter returns what suits most controllers: each item waits 5 ms after its first failure
// and twice as long after each other, up to 1000 s; all together at most 10 times a second, after a burst of 100.
func DefaultTypedControllerRateLimiter[T comparable]() TypedRateLimiter[T] {
	return limiters.DefaultControllerRateLimiter[T]()
}

// DefaultTypedItemBasedRateLimiter returns a limiter that knows only the item: 1 ms after its first failure, twice as
// long after each other, up to 1000 s.
func DefaultTypedItemBasedRateLimiter[T comparable]() TypedRateLimiter[T] {
	return NewTypedItemExponentialFailureRateLimiter[T](time.Millisecond, 1000*time.Second)
}
