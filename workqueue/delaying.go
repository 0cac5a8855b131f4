package workqueue

import (
	"container/heap"
	"time"
)

// DelayingQueue is a [Queue] whose items can be due later. Make it with [NewDelaying].
type DelayingQueue[T comparable] struct {
	Queue[T]
}

// NewDelaying returns a queue with delays.
func NewDelaying[T comparable](opts Options[T]) *DelayingQueue[T] {
	q := new(DelayingQueue[T])
	q.init(opts)
	return q
}

// AddAfter makes item due when d has passed: then it is added as by Add. A d of zero or less is Add. Of two calls for
// the same item the sooner deadline counts, until it has passed. Once the queue is shutting down, AddAfter does
// nothing.
func (q *DelayingQueue[T]) AddAfter(item T, d time.Duration) { q.AddAfterWithPriority(item, d, 0) }

// AddAfterWithPriority is AddAfter with the priority that the item is to have once it is due. Of two calls the higher
// priority counts.
func (q *DelayingQueue[T]) AddAfterWithPriority(item T, d time.Duration, priority int) {
	q.mu.Lock()
	defer q.unlock()
	if q.shuttingDown {
		return
	}
	q.news.retried = true
	if d <= 0 {
		q.addLocked(item, priority)
		return
	}
	due := time.Now().Add(d)
	e := q.entryLocked(item)
	switch {
	case e.is(delayed):
		e.delayPriority = max(e.delayPriority, priority)
		if due.Before(e.due) {
			q.undelayLocked(e)
			q.delayLocked(e, due)
		}
	case q.merge && e.is(ready|dirty):
		q.makeDueLocked(e, priority)
	default:
		e.delayPriority = priority
		q.delayLocked(e, due)
	}
}

// CancelDelayed takes back the item's pending AddAfter, and reports whether there was one. An item that is due already
// stays so.
func (q *DelayingQueue[T]) CancelDelayed(item T) bool {
	q.mu.Lock()
	defer q.unlock()
	e := q.table.entries[item]
	if e == nil || !e.is(delayed) {
		return false
	}
	// The alarm stays as it is: at worst it goes off for nothing.
	q.undelayLocked(e)
	q.releaseLocked(e)
	return true
}

func (q *Queue[T]) delayLocked(e *entry[T], due time.Time) {
	q.lastSeq++
	e.state |= delayed
	e.due, e.seq = due, q.lastSeq
	heap.Push(&q.delayed, e)
	if q.delayed[0] == e {
		q.setAlarmLocked()
	}
}

func (q *Queue[T]) undelayLocked(e *entry[T]) {
	heap.Remove(&q.delayed, e.delayIndex)
	e.state &^= delayed
}

// moveDueLocked makes due what has its deadline behind it.
func (q *Queue[T]) moveDueLocked(now time.Time) {
	for len(q.delayed) > 0 && !q.delayed[0].due.After(now) {
		e := q.delayed[0]
		q.undelayLocked(e)
		q.makeDueLocked(e, e.delayPriority)
	}
}

// delayHeap is a heap.Interface with the next item to be due at its root. Invariant: h[i].delayIndex == i.
type delayHeap[T comparable] []*entry[T]

func (h delayHeap[T]) Len() int { return len(h) }

func (h delayHeap[T]) Less(i, j int) bool {
	if order := h[i].due.Compare(h[j].due); order != 0 {
		return order < 0
	}
	return h[i].seq < h[j].seq
}

func (h delayHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].delayIndex, h[j].delayIndex = i, j
}

func (h *delayHeap[T]) Push(x any) {
	e := x.(*entry[T])
	e.delayIndex = len(*h)
	*h = append(*h, e)
}

func (h *delayHeap[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
