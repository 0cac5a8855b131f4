package deltafifo

import (
	"slices"
	"time"
)

// Pop takes the oldest delta. It blocks until there is one. Once the queue is closed and empty it returns ErrClosed.
// Whatever process returns, the delta is gone, and Pop returns the same. During another pop: ErrPopInProgress.
//
// Pop holds no lock while process runs, and producers may append. But if two full batches wait already, producers block
// until process returns. So process must not wait for a producer. isInInitialList: HasSynced was false before.
func (q *InOrder[K, T]) Pop(process func(d Delta[K, T], isInInitialList bool) error) error {
	return q.pop(1, func(batch []Delta[K, T], initial bool) error { return process(batch[0], initial) })
}

// PopBatch is Pop for as many deltas as can be taken at once: at most BatchSize, in order of arrival. No key comes
// twice, unless KeysMayRepeat. A ReplacedAll, SyncAll or Bookmark comes alone, so no batch reaches over the end of the
// initial list. A batch also ends at the end of a buffer. The slice is process's own only during the call.
func (q *InOrder[K, T]) PopBatch(process func(batch []Delta[K, T], isInInitialList bool) error) error {
	return q.pop(q.opts.BatchSize, process)
}

func (q *InOrder[K, T]) pop(limit int, process func([]Delta[K, T], bool) error) error {
	batch, err := q.take(limit)
	if err != nil {
		return err
	}
	var start time.Time
	if q.opts.Metrics.Processed != nil {
		start = time.Now()
	}
	defer q.processed(batch, start) // deferred, because process may panic
	return process(batch, !q.HasSynced())
}

// take waits for events, and makes the caller the consumer of the next batch.
func (q *InOrder[K, T]) take(limit int) ([]Delta[K, T], error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.popping {
		return nil, ErrPopInProgress
	}
	q.popping = true
	for q.queued == 0 {
		if q.closed {
			q.popping = false
			return nil, ErrClosed
		}
		q.changed.Wait()
	}
	if q.next == len(q.head) {
		q.swapLocked()
	}
	q.taken = q.batchLenLocked(limit)
	q.backpressure = (q.queued-limit)/2 >= q.opts.BatchSize // doubling BatchSize could overflow
	q.opts.Metrics.Queued(q.queued - q.taken)
	return slices.Clip(q.head[q.next : q.next+q.taken]), nil
}

// batchLenLocked returns the length of the batch at head[next]: until limit, a bulk delta, or a key's second delta.
func (q *InOrder[K, T]) batchLenLocked(limit int) int {
	ds := q.head[q.next:]
	ds = ds[:min(limit, len(ds))]
	if len(ds) == 1 || ds[0].Type >= ReplacedAll {
		return 1
	}
	defer clear(q.seen)
	for i := range ds {
		if ds[i].Type >= ReplacedAll {
			return i
		}
		if q.seen != nil {
			q.seen[ds[i].Key] = struct{}{}
			if len(q.seen) == i {
				return i // the key was there
			}
		}
	}
	return len(ds)
}

// swapLocked makes tail the head. The used-up head is the next tail, unless it is memory that a burst has left. The
// high-water mark decays slowly: a consumer may wake for single events between full batches.
func (q *InOrder[K, T]) swapLocked() {
	old := q.head
	q.highWater = max(len(old), q.highWater*31/32)
	if wasteful(cap(old), q.highWater) {
		old = nil
	}
	q.head, q.tail, q.next = q.tail, old[:0], 0
}

// processed ends a pop, when its process function has returned or panicked.
func (q *InOrder[K, T]) processed(batch []Delta[K, T], start time.Time) {
	if q.opts.Metrics.Processed != nil {
		q.opts.Metrics.Processed(time.Since(start))
	}
	clear(batch) // popped objects are not kept
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next += q.taken
	q.queued -= q.taken
	if q.remaining > 0 {
		q.entriesDoneLocked(q.taken)
	}
	q.taken, q.popping = 0, false
	if q.backpressure {
		q.backpressure = false
		q.changed.Broadcast()
	}
}
