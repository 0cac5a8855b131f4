package deltafifo

import "time"

// Pop takes the oldest delta. It blocks until there is one; once the queue is closed and empty it returns ErrClosed. The
// delta is gone from the queue whatever process returns, which Pop returns as it is.
//
// No lock is held while process runs, and producers may append, unless two full batches wait already: then they block
// until process returns. So process must not wait for a producer, nor call the queue's mutators.
//
// isInInitialList: HasSynced was false when the delta was taken. There is one consumer: a pop during another one, or from
// within process, returns ErrPopInProgress.
func (q *InOrder[K, T]) Pop(process func(d Delta[K, T], isInInitialList bool) error) error {
	batch, isInInitialList, err := q.take(1)
	if err != nil {
		return err
	}
	defer q.processed(batch, q.metrics.start())
	return process(batch[0], isInInitialList)
}

// PopBatch is Pop for as many deltas as can be taken at once: at most BatchSize, in order of arrival, no key twice unless
// KeysMayRepeat. A ReplacedAll, SyncAll or Bookmark comes alone, so no batch reaches over the end of the initial list. A
// batch can be shorter than it might be: it ends where the consumer swapped buffers. The batch, and the slice it is in, is
// process's own only during the call; objects and Bulks may be kept.
func (q *InOrder[K, T]) PopBatch(process func(batch []Delta[K, T], isInInitialList bool) error) error {
	batch, isInInitialList, err := q.take(q.batchSize)
	if err != nil {
		return err
	}
	defer q.processed(batch, q.metrics.start())
	return process(batch, isInInitialList)
}

// take waits for events and returns the next stretch of head. After a nil error, processed must be called.
func (q *InOrder[K, T]) take(limit int) (batch []Delta[K, T], isInInitialList bool, err error) {
	if err := q.begin(limit); err != nil {
		return nil, false, err
	}
	// From here to processed, head and next do not change: this goroutine set popping.
	rest := q.head[q.next:]
	n := 1
	if limit > 1 && rest[0].Type.ofOneObject() {
		n = stretch(rest, limit, q.unique)
	}
	if q.metrics.Queued != nil {
		q.mu.Lock()
		q.taken = n
		q.metrics.Queued(q.lenLocked() - n)
		q.mu.Unlock()
	}
	return rest[:n:n], !q.synced.isDone.Load(), nil
}

// begin makes the caller the consumer, and sees to it that head has something to process.
func (q *InOrder[K, T]) begin(limit int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.popping {
		return ErrPopInProgress
	}
	q.popping = true
	for q.lenLocked() == 0 {
		if q.closed {
			q.popping = false
			return ErrClosed
		}
		q.nonEmpty.Wait()
	}
	if q.next == len(q.head) {
		q.swapLocked()
	}
	// Halved rather than doubled: a BatchSize may be as good as unlimited.
	q.held = (q.lenLocked()-limit)/2 >= q.batchSize
	return nil
}

// maxWasted is how often in a row buffers may be hardly used before one is let go. A consumer that wakes for single events
// between full batches must not make the producers grow a buffer each time.
const maxWasted = 32

// swapLocked makes tail the head. The used-up head is the next tail, unless it is memory that is left of a burst.
func (q *InOrder[K, T]) swapLocked() {
	old := q.head
	switch {
	case cap(old) <= minKept:
	case !wasteful(cap(old), len(old)):
		q.wasted = 0
	case q.wasted < maxWasted:
		q.wasted++
	default:
		old, q.wasted = nil, 0
	}
	q.head, q.tail, q.next = q.tail, old[:0], 0
}

// processed takes back a batch whose process function has returned or panicked.
func (q *InOrder[K, T]) processed(batch []Delta[K, T], start time.Time) {
	q.metrics.processed(start)
	clear(batch)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next += len(batch)
	q.taken = 0
	q.synced.processedLocked(len(batch))
	q.popping = false
	if q.held {
		q.held = false
		q.room.Broadcast()
	}
}

// stretch returns the length of the batch at the start of ds: up to limit, the first bulk delta, or the first key that
// comes a second time, if there is a set to find that in.
func stretch[K comparable, T any](ds []Delta[K, T], limit int, unique *keySet[K]) int {
	ds = ds[:min(limit, len(ds))]
	if len(ds) == 1 {
		return 1
	}
	if unique != nil {
		unique.reset(len(ds))
	}
	for i := range ds {
		if !ds[i].Type.ofOneObject() || unique != nil && !addKey(unique, ds, i) {
			return i
		}
	}
	return len(ds)
}
