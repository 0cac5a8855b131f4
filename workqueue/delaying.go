package workqueue

import "time"

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

// AddAfter makes item due when d has passed: then it is added as by Add. A d of zero or less is Add. Of two calls for the
// same item the sooner deadline counts, until it has passed. Once the queue is shutting down, AddAfter does nothing.
func (q *DelayingQueue[T]) AddAfter(item T, d time.Duration) { q.AddAfterWithPriority(item, d, 0) }

// AddAfterWithPriority is AddAfter with the priority that the item is to have once it is due. Of two calls the higher
// priority counts.
func (q *DelayingQueue[T]) AddAfterWithPriority(item T, d time.Duration, priority int) {
	var accepted, due bool
	if d <= 0 {
		due, accepted = q.add(item, priority)
	} else {
		accepted = q.addAfter(item, d, priority)
	}
	if q.metrics == nil {
		return
	}
	if accepted {
		q.metrics.Retried()
	}
	if due {
		q.metrics.Added()
	}
}

// CancelDelayed takes back the item's pending AddAfter, and reports whether there was one. An item that is due already, by
// whatever means, stays so.
func (q *DelayingQueue[T]) CancelDelayed(item T) bool {
	hash := q.table.hash(item)
	lock(&q.mu)
	defer q.mu.Unlock()
	e := q.table.find(item, hash)
	if e == nil || !e.delayed() {
		return false
	}
	// The alarm stays as it is: at worst it goes off for nothing.
	q.delayed.remove(e)
	q.table.release(e)
	return true
}

func (q *Queue[T]) addAfter(item T, d time.Duration, priority int) (accepted bool) {
	hash := q.table.hash(item)
	lock(&q.mu)
	defer q.mu.Unlock()
	if q.shuttingDown {
		return false
	}
	if q.table.len == 0 && q.largeLocked() {
		q.beginRoundLocked()
	}
	e := q.table.get(item, hash)
	// Time has passed since the clock was last read: what would be too late then is so now, and costs no reading.
	if e.delayed() && q.readAt.after(d) >= q.delayed.dueOf(e) {
		e.delayPriority = max(e.delayPriority, priority)
		return true
	}
	now := q.now()
	due := now.after(d)
	switch {
	case e.delayed():
		e.delayPriority = max(e.delayPriority, priority)
		if due >= q.delayed.dueOf(e) {
			return true
		}
		q.delayed.hasten(e, due)
	case q.merge && e.is(ready|dirty):
		q.makeDueLocked(e, priority)
		return true
	default:
		e.delayPriority = priority
		q.delayed.push(e, due)
	}
	q.setWakeLocked(now)
	return true
}

// setWakeLocked sees to it that the alarm goes off for the next deadline.
func (q *Queue[T]) setWakeLocked(now instant) {
	if len(q.delayed.nodes) == 0 {
		return
	}
	next := q.delayed.nodes[0].due
	if q.wake.set && q.wake.at <= next {
		return
	}
	q.wake.setFor(next, time.Duration(next-now))
}

// atOnce is how many items that fall due together are moved before others get the lock.
const atOnce = 256

// wakeUp is the alarm's callback: it makes ready what is due.
func (q *Queue[T]) wakeUp() {
	lock(&q.mu)
	q.wake.clear()
	for more := true; more; {
		var added int
		added, more = q.moveDueLocked(atOnce)
		if !more {
			q.setWakeLocked(q.now())
		}
		if more || q.metrics != nil {
			q.mu.Unlock()
			q.reportAdded(added)
			if more {
				for range pause << (spins - 1) { // so that those who wait awake have tried to take the lock
				}
			}
			lock(&q.mu)
		}
	}
	q.endedLocked(&q.wake)
	q.mu.Unlock()
}

// moveDueLocked makes at most limit delayed items due whose time has come. added is how many were not due by Add already,
// more whether there may be others.
func (q *Queue[T]) moveDueLocked(limit int) (added int, more bool) {
	now := q.now()
	for range limit {
		if len(q.delayed.nodes) == 0 || q.delayed.nodes[0].due > now {
			return added, false
		}
		e := q.delayed.nodes[0].e
		q.delayed.remove(e)
		if q.makeDueLocked(e, e.delayPriority) {
			added++
		}
	}
	return added, true
}

// helpLocked makes ready what is due, for a worker that has nothing else to do: it need not wait for the alarm's goroutine.
func (q *Queue[T]) helpLocked() (added int) {
	if len(q.delayed.nodes) == 0 {
		return 0
	}
	// This worker is awake and will wake the next one, if it leaves something.
	was := q.waking
	q.waking = true
	added, _ = q.moveDueLocked(atOnce)
	q.waking = was
	if len(q.delayed.nodes) == 0 {
		q.wake.stop()
	}
	return added
}

func (q *Queue[T]) reportAdded(n int) {
	if q.metrics == nil {
		return
	}
	for range n {
		q.metrics.Added()
	}
}
