// Package limiters has the rate limiters of a workqueue: they decide how long an item that failed waits.
//
//	AddRateLimited(item) ──▶ When(item): count one more failure ──▶ AddAfter(item, delay)
//	Forget(item)         ──▶ Forget(item): the count is 0 again
//
// # Guarantees
//
//   - All limiters are safe for concurrent use.
//   - A limiter remembers the last [DefaultMaxTracked] items that failed, see [Counts]. More do not fill the memory.
//   - By structure they are client-go's TypedRateLimiters.
//
// # Not guaranteed
//
//   - That an item is counted for ever: one that was evicted starts anew.
package limiters

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// RateLimiter decides how long an item waits before it is tried again. Its methods must be safe for concurrent use. The
// queue calls them with no lock held.
type RateLimiter[T comparable] interface {
	// When counts one more retry of item and returns how long it is to wait.
	When(item T) time.Duration
	// Forget sets the item's count to 0.
	Forget(item T)
	// NumRequeues returns the item's count.
	NumRequeues(item T) int
}

// Tracked returns how many items l remembers, 0 if it has no method Tracked() int.
func Tracked[T comparable](l RateLimiter[T]) int {
	if t, ok := l.(interface{ Tracked() int }); ok {
		return t.Tracked()
	}
	return 0
}

// DefaultControllerRateLimiter returns what suits most controllers. Each item waits 5 ms after its first failure and
// twice as long after each other, up to 1000 s. All together get 10 retries a second at most, after a burst of 100.
func DefaultControllerRateLimiter[T comparable]() *MaxOfRateLimiter[T] {
	return NewMaxOfRateLimiter[T](
		NewItemExponentialFailureRateLimiter[T](5*time.Millisecond, 1000*time.Second),
		NewBucketRateLimiter[T](rate.NewLimiter(10, 100)),
	)
}

// BucketRateLimiter limits all items together by a token bucket. It remembers no items: Forget does nothing.
type BucketRateLimiter[T comparable] struct {
	*rate.Limiter
}

// NewBucketRateLimiter returns a limiter that takes one token of l, which must not be nil, for each retry.
func NewBucketRateLimiter[T comparable](l *rate.Limiter) *BucketRateLimiter[T] {
	return &BucketRateLimiter[T]{Limiter: l}
}

// When returns the time until the bucket has a token for this retry.
func (r *BucketRateLimiter[T]) When(T) time.Duration { return r.Reserve().Delay() }
func (r *BucketRateLimiter[T]) Forget(T)             {}
func (r *BucketRateLimiter[T]) NumRequeues(T) int    { return 0 }

// ItemExponentialFailureRateLimiter doubles an item's delay with each retry: exponential backoff.
type ItemExponentialFailureRateLimiter[T comparable] struct {
	Counts[T]
	base, max time.Duration
}

// NewItemExponentialFailureRateLimiter returns a limiter whose delays are base, 2·base, 4·base and so on, at most max.
func NewItemExponentialFailureRateLimiter[T comparable](base, max time.Duration) *ItemExponentialFailureRateLimiter[T] {
	return &ItemExponentialFailureRateLimiter[T]{base: base, max: max}
}

// When counts a retry of item and returns its delay.
func (r *ItemExponentialFailureRateLimiter[T]) When(item T) time.Duration {
	before := r.increment(item) - 1
	// Shifting the cap down instead of the base up cannot overflow.
	if r.base > r.max>>before {
		return r.max
	}
	return r.base << before
}

// ItemFastSlowRateLimiter gives an item's first retries a short delay, and all further ones a long one.
type ItemFastSlowRateLimiter[T comparable] struct {
	Counts[T]
	fast, slow time.Duration
	maxFast    int
}

// NewItemFastSlowRateLimiter returns a limiter whose delay is fast for the first maxFast retries and slow from then on.
func NewItemFastSlowRateLimiter[T comparable](fast, slow time.Duration, maxFast int) *ItemFastSlowRateLimiter[T] {
	return &ItemFastSlowRateLimiter[T]{fast: fast, slow: slow, maxFast: maxFast}
}

// When counts a retry of item and returns its delay.
func (r *ItemFastSlowRateLimiter[T]) When(item T) time.Duration {
	if r.increment(item) <= r.maxFast {
		return r.fast
	}
	return r.slow
}

// MaxOfRateLimiter asks several limiters, and the longest delay counts. Each of them counts each retry: a token bucket
// may run empty by retries that waited longer anyway.
type MaxOfRateLimiter[T comparable] struct {
	limiters []RateLimiter[T]
}

// NewMaxOfRateLimiter returns a limiter that asks the given ones, none of which may be nil.
func NewMaxOfRateLimiter[T comparable](limiters ...RateLimiter[T]) *MaxOfRateLimiter[T] {
	return &MaxOfRateLimiter[T]{limiters: limiters}
}

// When returns the longest delay, 0 if there are no limiters.
func (r *MaxOfRateLimiter[T]) When(item T) time.Duration {
	return highest(r.limiters, func(l RateLimiter[T]) time.Duration { return l.When(item) })
}

// Forget makes every limiter forget item.
func (r *MaxOfRateLimiter[T]) Forget(item T) {
	for _, l := range r.limiters {
		l.Forget(item)
	}
}

// NumRequeues returns the highest count of any limiter.
func (r *MaxOfRateLimiter[T]) NumRequeues(item T) int {
	return highest(r.limiters, func(l RateLimiter[T]) int { return l.NumRequeues(item) })
}

// Tracked returns the highest number of items that any limiter remembers.
func (r *MaxOfRateLimiter[T]) Tracked() int { return highest(r.limiters, Tracked[T]) }

func highest[T comparable, N int | time.Duration](limiters []RateLimiter[T], of func(RateLimiter[T]) N) (found N) {
	for _, l := range limiters {
		found = max(found, of(l))
	}
	return found
}

// WithMaxWaitRateLimiter caps the delays of another limiter. Its other methods are that limiter's.
type WithMaxWaitRateLimiter[T comparable] struct {
	inner RateLimiter[T]
	max   time.Duration
}

// NewWithMaxWaitRateLimiter returns a limiter whose delays are those of inner, which must not be nil, but at most max.
func NewWithMaxWaitRateLimiter[T comparable](inner RateLimiter[T], max time.Duration) *WithMaxWaitRateLimiter[T] {
	return &WithMaxWaitRateLimiter[T]{inner: inner, max: max}
}

// When returns the inner limiter's delay or the cap, whichever is shorter.
func (r *WithMaxWaitRateLimiter[T]) When(item T) time.Duration { return min(r.inner.When(item), r.max) }
func (r *WithMaxWaitRateLimiter[T]) Forget(item T)             { r.inner.Forget(item) }
func (r *WithMaxWaitRateLimiter[T]) NumRequeues(item T) int    { return r.inner.NumRequeues(item) }
func (r *WithMaxWaitRateLimiter[T]) Tracked() int              { return Tracked(r.inner) }

// DefaultMaxTracked is for how many items a limiter remembers retries, unless told otherwise.
const DefaultMaxTracked = 100_000

// Counts are the retry counters of a rate limiter, in an LRU cache. So items that nobody forgets cannot fill the
// memory. With one item too many, the one whose last retry is longest ago is evicted. If it fails, it starts anew.
type Counts[T comparable] struct {
	// MaxTracked is the number of items remembered at most; 0 means DefaultMaxTracked. It must not be changed once the
	// limiter is in use.
	MaxTracked int

	mu sync.Mutex // guards all below
	// Invariant: byItem has the elements of byRetry, whose values are *count[T].
	byItem  map[T]*list.Element
	byRetry list.List // the longest without a retry first
	evicted uint64
}

type count[T comparable] struct {
	item T
	n    int
}

// increment returns the item's count with this retry included.
func (c *Counts[T]) increment(item T) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byItem == nil {
		c.byItem = make(map[T]*list.Element)
	}
	el := c.byItem[item]
	if el == nil {
		el = c.byRetry.PushBack(&count[T]{item: item})
		c.byItem[item] = el
	}
	c.byRetry.MoveToBack(el)
	if len(c.byItem) > c.limit() {
		oldest := c.byRetry.Remove(c.byRetry.Front()).(*count[T])
		delete(c.byItem, oldest.item)
		c.evicted++
	}
	counter := el.Value.(*count[T])
	counter.n++
	return counter.n
}

// limit is MaxTracked, or the default if that is not set.
func (c *Counts[T]) limit() int {
	if c.MaxTracked > 0 {
		return c.MaxTracked
	}
	return DefaultMaxTracked
}

// Forget sets the item's count to 0.
func (c *Counts[T]) Forget(item T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.byItem[item]; el != nil {
		c.byRetry.Remove(el)
		delete(c.byItem, item)
	}
}

// NumRequeues returns the item's count.
func (c *Counts[T]) NumRequeues(item T) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.byItem[item]; el != nil {
		return el.Value.(*count[T]).n
	}
	return 0
}

// Tracked returns how many items are remembered.
func (c *Counts[T]) Tracked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byItem)
}

// Evicted returns how many items were forgotten because there were too many.
func (c *Counts[T]) Evicted() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.evicted
}
