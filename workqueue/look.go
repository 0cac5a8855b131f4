package workqueue

import (
	"slices"
	"time"
)

// Stats are the numbers of one moment.
type Stats struct {
	// Queued items wait to be taken. Items that were added again while being processed are not among them.
	Queued int
	// Processing items were taken and are not done.
	Processing int
	// Delayed items will be due later. An item may be queued or processing at the same time.
	Delayed int
}

// Stats returns the queue's numbers.
func (q *Queue[T]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{Queued: q.lenLocked(), Processing: q.processing.len, Delayed: len(q.delayed)}
}

// Contents copies out what is in the queue at one moment. The queue waits while it copies.
//
// The items of queued come in the order in which Get will take them, with [Options].Order in no order. processing has the
// items that were taken and are not done. Its value is true for an item that was added again meanwhile, which is not in
// queued. delayed has each item's deadline. A delayed item may be queued or processing as well.
func (q *Queue[T]) Contents() (queued []T, processing map[T]bool, delayed map[T]time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.opts.Order == nil {
		for _, l := range slices.Backward(q.waiting.levels) {
			for e := l.items.head; e != nil; e = e.next {
				queued = append(queued, e.item)
			}
		}
	} else {
		for item, e := range q.entries {
			if e.state == waiting {
				queued = append(queued, item)
			}
		}
	}
	processing = make(map[T]bool, q.processing.len)
	for e := q.processing.head; e != nil; e = e.next {
		processing[e.item] = e.state == processingDirty
	}
	delayed = make(map[T]time.Time, len(q.delayed))
	for _, e := range q.delayed {
		delayed[e.item] = e.deadline
	}
	return queued, processing, delayed
}
