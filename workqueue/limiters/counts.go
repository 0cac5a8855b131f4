package limiters

import (
	"cmp"
	"container/list"
	"sync"
)

// DefaultMaxTracked is for how many items a limiter remembers retries, unless told otherwise.
const DefaultMaxTracked = 100_000

// Counts are the retry counters of a rate limiter, in an LRU cache. So items that nobody forgets cannot fill the
// memory. With one item too many, the one whose last retry is longest ago is evicted. It starts anew if it fails once
// more.
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
	if len(c.byItem) > cmp.Or(max(c.MaxTracked, 0), DefaultMaxTracked) {
		oldest := c.byRetry.Remove(c.byRetry.Front()).(*count[T])
		delete(c.byItem, oldest.item)
		c.evicted++
	}
	counter := el.Value.(*count[T])
	counter.n++
	return counter.n
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
