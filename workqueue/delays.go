package workqueue

import (
	"container/heap"
	"time"
)

// delayLocked puts e into the heap, and sets the alarm if e is the next to be due.
func (q *Queue[T]) delayLocked(e *entry[T], deadline time.Time) {
	q.lastSeq++
	e.delayed = true
	e.deadline = deadline
	e.seq = q.lastSeq
	heap.Push(&q.delayed, e)
	if q.delayed[0] == e {
		q.nextDeadline.set(deadline)
	}
}

// undelayLocked leaves the alarm as it is: at worst it goes off for nothing, and is set anew then.
func (q *Queue[T]) undelayLocked(e *entry[T]) {
	heap.Remove(&q.delayed, e.delayIndex)
	e.delayed = false
}

// deadlineReached is called by the alarm.
func (q *Queue[T]) deadlineReached() {
	q.mu.Lock()
	defer q.unlockAndTellMetrics()
	q.moveDueLocked(time.Now())
	if len(q.delayed) > 0 {
		q.nextDeadline.set(q.delayed[0].deadline)
	}
}

// idleIsDueLocked is for a Get that finds nothing waiting. If the first item that is due is one that it can take, it makes
// it due itself, since waiting for the alarm's goroutine takes three times as long. If a worker has that item, it and those
// behind it are left to the alarm. So a Get that made something due does not wait, and the metrics hear of it at once.
func (q *Queue[T]) idleIsDueLocked() bool {
	return len(q.delayed) > 0 && q.delayed[0].state == idle && q.delayed[0].deadlineIsOver(time.Now())
}

func (e *entry[T]) deadlineIsOver(now time.Time) bool { return !e.deadline.After(now) }

// moveDueLocked makes due what has its deadline behind it, now.
func (q *Queue[T]) moveDueLocked(now time.Time) {
	for len(q.delayed) > 0 && q.delayed[0].deadlineIsOver(now) {
		e := q.delayed[0]
		q.undelayLocked(e)
		q.makeDueLocked(e, e.delayPriority)
	}
}

// delayHeap is a heap.Interface with the next item to be due at its root. Invariant: h[i].delayIndex == i.
type delayHeap[T comparable] []*entry[T]

func (h delayHeap[T]) Len() int { return len(h) }

func (h delayHeap[T]) Less(i, j int) bool {
	if h[i].deadline.Equal(h[j].deadline) {
		return h[i].seq < h[j].seq
	}
	return h[i].deadline.Before(h[j].deadline)
}

func (h delayHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].delayIndex = i
	h[j].delayIndex = j
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
