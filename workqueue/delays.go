package workqueue

import (
	"container/heap"
	"time"
)

// delayLocked puts e into the heap, and sets the timer if e is the next to be due.
func (q *Queue[T]) delayLocked(e *entry[T], deadline time.Time) {
	q.lastSeq++
	e.delayed = true
	e.deadline = deadline
	e.seq = q.lastSeq
	heap.Push(&q.delayed, e)
	if q.delayed[0] == e {
		q.setTimerLocked()
	}
}

func (q *Queue[T]) undelayLocked(e *entry[T]) {
	heap.Remove(&q.delayed, e.delayIndex)
	e.delayed = false
}

// moveDueLocked makes due what has its deadline behind it.
func (q *Queue[T]) moveDueLocked(now time.Time) {
	for len(q.delayed) > 0 && !q.delayed[0].deadline.After(now) {
		e := q.delayed[0]
		q.undelayLocked(e)
		q.makeDueLocked(e, e.delayPriority)
	}
}

// setTimerLocked sets the queue's only timer for the next deadline or report of unfinished work. If there is none, a timer
// that was set before stays: at worst it goes off for nothing.
func (q *Queue[T]) setTimerLocked() {
	next := q.reportAt
	if len(q.delayed) > 0 {
		deadline := q.delayed[0].deadline
		if next.IsZero() || deadline.Before(next) {
			next = deadline
		}
	}
	if next.IsZero() {
		return
	}
	q.stopTimerLocked()
	q.callbacks.Add(1)
	if q.timer == nil {
		q.timer = time.AfterFunc(time.Until(next), q.timerFired)
	} else {
		q.timer.Reset(time.Until(next))
	}
}

func (q *Queue[T]) stopTimerLocked() {
	if q.timer == nil {
		return
	}
	stopped := q.timer.Stop()
	if stopped {
		q.callbacks.Done() // It will not run.
	}
}

// timerFired is the timer's callback.
func (q *Queue[T]) timerFired() {
	defer q.callbacks.Done()
	q.mu.Lock()
	defer q.unlockAndTellMetrics()
	now := time.Now()
	q.moveDueLocked(now)
	q.reportIfTimeLocked(now)
	q.setTimerLocked()
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
