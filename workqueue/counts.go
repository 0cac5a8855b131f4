package workqueue

import "sync"

// DefaultMaxTracked is for how many items a limiter remembers retries, unless told otherwise.
const DefaultMaxTracked = 100_000

// Counts are the retry counters of a rate limiter. Items that nobody forgets cannot fill the memory: with one item too
// many, the one whose last retry is longest ago is forgotten, and so starts anew if it fails once more.
type Counts[T comparable] struct {
	// MaxTracked is the number of items remembered at most; 0 means DefaultMaxTracked. It must not be changed once the
	// limiter is in use.
	MaxTracked int

	mu     sync.Mutex // guards all below
	counts map[T]*count[T]
	// oldest and newest are the ends of a list in order of the last retry. Invariant: it has the same items as counts.
	oldest, newest *count[T]
	evicted        uint64
}

type count[T comparable] struct {
	item           T
	n              int
	older, younger *count[T]
}

// increment returns the item's count with this retry included.
func (c *Counts[T]) increment(item T) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.counts[item]
	if e == nil {
		e = c.addLocked(item)
	} else if e != c.newest {
		c.unlinkLocked(e)
		c.linkLocked(e)
	}
	e.n++
	return e.n
}

// addLocked makes a counter, of the one that has to go if there are too many.
func (c *Counts[T]) addLocked(item T) *count[T] {
	limit := c.MaxTracked
	if limit <= 0 {
		limit = DefaultMaxTracked
	}
	if c.counts == nil {
		c.counts = make(map[T]*count[T])
	}
	e := new(count[T])
	if len(c.counts) >= limit {
		e = c.oldest
		c.dropLocked(e)
		c.evicted++
	}
	e.item, e.n = item, 0
	c.counts[item] = e
	c.linkLocked(e)
	return e
}

func (c *Counts[T]) dropLocked(e *count[T]) {
	c.unlinkLocked(e)
	delete(c.counts, e.item)
}

func (c *Counts[T]) linkLocked(e *count[T]) {
	e.older, e.younger = c.newest, nil
	if c.newest == nil {
		c.oldest = e
	} else {
		c.newest.younger = e
	}
	c.newest = e
}

func (c *Counts[T]) unlinkLocked(e *count[T]) {
	if e.older == nil {
		c.oldest = e.younger
	} else {
		e.older.younger = e.younger
	}
	if e.younger == nil {
		c.newest = e.older
	} else {
		e.younger.older = e.older
	}
}

// Forget sets the item's count to 0.
func (c *Counts[T]) Forget(item T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.counts[item]; e != nil {
		c.dropLocked(e)
	}
}

// NumRequeues returns the item's count.
func (c *Counts[T]) NumRequeues(item T) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.counts[item]; e != nil {
		return e.n
	}
	return 0
}

// Tracked returns how many items are remembered.
func (c *Counts[T]) Tracked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.counts)
}

// Evicted returns how many items were forgotten because there were too many.
func (c *Counts[T]) Evicted() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.evicted
}
