package workqueue

import (
	"container/heap"
	"context"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// delayingOver adds delays to another implementation's queue, or to ours with a clock other than the real one.
//
//	AddAfter ──▶ deadlines ──run, while there are some──▶ the other queue's Add
//
// The other queue and the clock are never called with the mutex held.
type delayingOver[T comparable] struct {
	TypedInterface[T]
	clock   clock.WithTicker
	logger  klog.Logger
	retries CounterMetric // nil without metrics

	// sooner holds a token when the first deadline has changed; stop is closed at shutdown.
	sooner, stop chan struct{}
	runner       sync.WaitGroup

	mu        sync.Mutex // guards all below
	deadlines deadlines[T]
	// Invariant: it has the same elements as deadlines.
	byItem map[T]*deadline[T]
	// Invariant: if there are deadlines and the queue is not closed, run is running, unless it crashed.
	running, closed bool
}

func (q *delayingOver[T]) init() {
	q.sooner, q.stop = make(chan struct{}, 1), make(chan struct{})
	q.byItem = make(map[T]*deadline[T])
}

// AddAfter adds item to the queue below after d, by the clock. Of two calls the sooner deadline counts.
func (q *delayingOver[T]) AddAfter(item T, d time.Duration) {
	if q.ShuttingDown() {
		return
	}
	if q.retries != nil {
		q.retries.Inc()
	}
	if d <= 0 {
		q.Add(item)
		return
	}
	if q.schedule(item, q.clock.Now().Add(d)) {
		select {
		case q.sooner <- struct{}{}:
		default: // there is a token already
		}
	}
}

// schedule reports whether item is now the first that will be due.
func (q *delayingOver[T]) schedule(item T, at time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	d := q.byItem[item]
	switch {
	case d == nil:
		d = &deadline[T]{item: item, at: at}
		q.byItem[item] = d
		heap.Push(&q.deadlines, d)
	case at.Before(d.at):
		d.at = at
		heap.Fix(&q.deadlines, d.index)
	default:
		return false
	}
	if !q.running {
		q.running = true
		q.runner.Go(q.run)
	}
	return d.index == 0
}

// run adds the due items, and returns when no item is left or the queue is closed.
func (q *delayingOver[T]) run() {
	defer utilruntime.HandleCrashWithLogger(q.logger, q.crashed)
	for {
		first, more := q.addDue(true)
		if !more {
			return
		}
		if !q.await(first) {
			return
		}
	}
}

// crashed lets the next AddAfter start another runner if the program survives a panic of the other queue's Add.
func (q *delayingOver[T]) crashed(context.Context, any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running = false
}

// slack is how far the clock may move while a timer is set. A fake clock moves in steps. If it moves between reading
// the time and setting the timer, the timer would be late by that step.
const slack = 100 * time.Microsecond

// await returns at the deadline or when there is a sooner one; false means that the queue is closed.
func (q *delayingOver[T]) await(first time.Time) bool {
	for {
		now := q.clock.Now()
		timer := q.clock.NewTimer(first.Sub(now))
		if q.clock.Since(now) > slack {
			timer.Stop()
			continue
		}
		defer timer.Stop()
		select {
		case <-timer.C():
			return true
		case <-q.sooner:
			return true
		case <-q.stop:
			return false
		}
	}
}

// addDue adds the due items, and returns the first deadline of the others, if any. If there is none, the calling runner
// must end, for the next item starts another one.
func (q *delayingOver[T]) addDue(runner bool) (first time.Time, more bool) {
	now := q.clock.Now()
	for {
		item, due, first := q.popDue(now, runner)
		if !due {
			return first, !first.IsZero()
		}
		q.Add(item)
	}
}

// popDue takes out an item that is due. If there is none it returns the first deadline, zero if there is none either.
func (q *delayingOver[T]) popDue(now time.Time, runner bool) (item T, due bool, first time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.deadlines) > 0 {
		if first = q.deadlines[0].at; first.After(now) {
			return item, false, first
		}
		d := heap.Pop(&q.deadlines).(*deadline[T])
		delete(q.byItem, d.item)
		return d.item, true, first
	}
	if runner {
		q.running = false
	}
	return item, false, time.Time{}
}

// ShutDown adds what is due, drops what is delayed, and shuts the other queue down. Its goroutine is gone then.
func (q *delayingOver[T]) ShutDown() {
	q.close()
	q.TypedInterface.ShutDown()
}

// ShutDownWithDrain is ShutDown, and waits as the other queue does.
func (q *delayingOver[T]) ShutDownWithDrain() {
	q.close()
	q.TypedInterface.ShutDownWithDrain()
}

func (q *delayingOver[T]) close() {
	q.mu.Lock()
	first := !q.closed
	q.closed = true
	q.mu.Unlock()
	if first {
		close(q.stop)
	}
	q.runner.Wait()
	q.addDue(false)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.deadlines, q.byItem = nil, nil
}

type deadline[T comparable] struct {
	item  T
	at    time.Time
	index int // place in the heap
}

// deadlines is a heap.Interface, the next item due at its root.
type deadlines[T comparable] []*deadline[T]

func (h deadlines[T]) Len() int           { return len(h) }
func (h deadlines[T]) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h deadlines[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *deadlines[T]) Push(x any) {
	d := x.(*deadline[T])
	d.index = len(*h)
	*h = append(*h, d)
}

func (h *deadlines[T]) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return d
}
