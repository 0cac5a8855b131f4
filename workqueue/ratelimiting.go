package workqueue

import "glasswatch/workqueue/limiters"

// DelayingQueue is a [Queue] whose items can be due later. Make it with [NewDelaying]. All that it needs is in the Queue:
// it only has the methods.
type DelayingQueue[T comparable] struct {
	Queue[T]
}

// NewDelaying returns a queue with delays.
func NewDelaying[T comparable](opts Options[T]) *DelayingQueue[T] {
	q := new(DelayingQueue[T])
	q.init(opts)
	return q
}

// RateLimiter decides how long an item waits before it is tried again. The queue calls it with no lock held.
type RateLimiter[T comparable] = limiters.RateLimiter[T]

// RateLimitingQueue is a [DelayingQueue] that knows how long a failed item is to wait. Make it with [NewRateLimiting].
type RateLimitingQueue[T comparable] struct {
	DelayingQueue[T]
	limiter RateLimiter[T]
}

// NewRateLimiting returns a queue with delays and a rate limiter.
func NewRateLimiting[T comparable](opts Options[T]) *RateLimitingQueue[T] {
	q := &RateLimitingQueue[T]{limiter: opts.RateLimiter}
	if q.limiter == nil {
		q.limiter = limiters.DefaultControllerRateLimiter[T]()
	}
	q.init(opts)
	return q
}

// AddRateLimited is AddAfter with the delay that the rate limiter gives.
func (q *RateLimitingQueue[T]) AddRateLimited(item T) {
	delay := q.limiter.When(item)
	q.AddAfter(item, delay)
}

// Forget tells the rate limiter that item succeeded or was given up. Done has to be called all the same.
func (q *RateLimitingQueue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues returns how often the rate limiter was asked about item since it was last forgotten.
func (q *RateLimitingQueue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// Tracked returns for how many items the rate limiter remembers retries. A number that keeps growing means that
// somebody does not call Forget. It is 0 if the limiter has no method Tracked() int.
func (q *RateLimitingQueue[T]) Tracked() int { return limiters.Tracked(q.limiter) }
