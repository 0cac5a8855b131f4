package deltafifo

import (
	"slices"
	"time"

	"glasswatch/internal/shrink"
)

// Pop takes the oldest delta. It blocks until there is one. Once the queue is closed and empty it returns ErrClosed.
// Pop returns what process returns. The delta is gone in any case. During another pop: ErrPopInProgress.
//
// process runs without the lock. If Pop leaves two full batches or more, producers block until process returns. So
// process must neither call Add nor wait for a producer: that may block until Close. isInInitialList tells that
// HasSynced was still false when Pop took the delta.
func (q *InOrder[K, T]) Pop(process func(d Delta[K, T], isInInitialList bool) error) error {
	return q.pop(1, func(batch []Delta[K, T], initial bool) error { return process(batch[0], initial) })
}

// PopBatch is Pop for as many deltas as can be taken at once: at most BatchSize, in order of arrival. No key comes
// twice, unless KeysMayRepeat. A ReplacedAll, SyncAll or Bookmark comes alone, so no batch reaches over the end of the
// initial list. A batch may be shorter than what waits, where an internal buffer ends. The slice is process's own only
// during the call.
func (q *InOrder[K, T]) PopBatch(process func(batch []Delta[K, T], isInInitialList bool) error) error {
	return q.pop(q.opts.BatchSize, process)
}

func (q *InOrder[K, T]) pop(limit int, process func([]Delta[K, T], bool) error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.popping {
		return ErrPopInProgress
	}
	q.popping = true
	defer q.endPopLocked() // deferred, because process and the metrics may panic
	for q.queued == 0 {
		if q.closed {
			return ErrClosed
		}
		q.changed.Wait()
	}
	batch := slices.Clip(q.nextBatchLocked(limit)) // so that an append of process does not write to head
	if q.opts.Metrics.Queued != nil {
		q.opts.Metrics.Queued(q.queued - len(batch))
	}
	q.batchLen = len(batch)
	q.backpressure = (q.queued-len(batch))/2 >= q.opts.BatchSize // doubling BatchSize could overflow
	isInInitialList := !q.initial.isDone()
	q.mu.Unlock()
	defer q.mu.Lock() // process runs without the lock
	if q.opts.Metrics.Processed != nil {
		start := time.Now()
		defer func() { q.opts.Metrics.Processed(time.Since(start)) }()
	}
	return process(batch, isInInitialList)
}

// nextBatchLocked returns what comes next in head: until limit, a bulk delta, or a key's second delta.
// A used-up head and tail change places. The old head's memory is reused, unless it is what a burst has left. The
// high-water mark decays slowly: a consumer may wake for single events between full batches.
func (q *InOrder[K, T]) nextBatchLocked(limit int) []Delta[K, T] {
	if q.done == len(q.head) {
		q.highWater = max(len(q.head), q.highWater*31/32)
		if shrink.IsDue(cap(q.head), q.highWater) {
			q.head = nil
			q.seen = nil
		}
		q.head, q.tail = q.tail, q.head[:0]
		q.done = 0
	}
	ds := q.head[q.done:]
	ds = ds[:min(limit, len(ds))]
	if len(ds) == 1 || ds[0].Type >= ReplacedAll {
		return ds[:1]
	}
	if q.seen == nil {
		q.seen = map[K]struct{}{}
	}
	defer clear(q.seen)
	for i := range ds {
		if ds[i].Type >= ReplacedAll {
			return ds[:i]
		}
		if !q.opts.KeysMayRepeat {
			q.seen[ds[i].Key] = struct{}{}
			if len(q.seen) == i {
				return ds[:i] // the key was there
			}
		}
	}
	return ds
}

// endPopLocked ends a pop, when its process function has returned or panicked, or nothing was taken.
func (q *InOrder[K, T]) endPopLocked() {
	clear(q.head[q.done : q.done+q.batchLen]) // popped objects are not kept
	q.done += q.batchLen
	q.queued -= q.batchLen
	q.initial.processed(q.batchLen)
	q.batchLen = 0
	q.popping = false
	if q.backpressure {
		q.backpressure = false
		q.changed.Broadcast()
	}
}
