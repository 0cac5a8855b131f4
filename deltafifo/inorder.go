package deltafifo

import "slices"

// InOrder hands out every event in the order in which it came.
//
//	producers ──append──▶ [ tail ]                the events that came since
//	                          │ swapped whole, when head is used up
//	                          ▼
//	                      [ head ]──▶ batch ──▶ process, with no lock held
//
// A batch is a part of head, not a copy. The used-up head becomes the next tail, so its memory is reused.
type InOrder[K comparable, T any] struct {
	base[K, T]
	// Invariant: head[:done] is zero, and so are tail and head between their length and capacity.
	head, tail []Delta[K, T]
	done       int  // how many deltas of head were processed
	batchLen   int  // how many deltas of head, from done on, are being processed
	queued     int  // how many deltas were not processed: head[done:] and tail
	popping    bool // a consumer waits or processes
	// backpressure: the pop in progress left two full batches or more. Producers wait until it ends.
	backpressure bool
	highWater    int            // the longest head of late; decays slowly
	seen         map[K]struct{} // finds repeated keys in a batch, else empty or nil
}

// NewInOrder returns an empty queue. It panics without a KeyFunc.
func NewInOrder[K comparable, T any](opts Options[K, T]) *InOrder[K, T] {
	if opts.BatchSize <= 0 {
		opts.BatchSize = 1000
	}
	q := &InOrder[K, T]{}
	q.init(opts, q.enqueueLocked)
	return q
}

// PutAll is Add, Update or Delete for each delta, by its type, in order. All of them cost one lock and one wakeup, and
// no other producer's deltas come between. Only Type and Obj need be set. The slice is scratch: the queue overwrites
// it, and does not retain it. PutAll returns nil, or one error or nil for each delta. Other types are errors.
func (q *InOrder[K, T]) PutAll(deltas []Delta[K, T]) (errs []error) {
	events, accepted := 0, deltas[:0]
	for i := range deltas {
		ok, err := q.opts.complete(&deltas[i])
		if err != nil {
			if errs == nil {
				errs = make([]error, len(deltas))
			}
			errs[i] = err
			continue
		}
		events++
		if ok {
			accepted = append(accepted, deltas[i])
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if events > len(accepted) {
		q.enqueueLocked(Delta[K, T]{}, false)
	}
	for _, d := range accepted {
		q.enqueueLocked(d, true)
	}
	return errs
}

// Replace queues a list as one ReplacedAll delta. It makes no tombstones: the consumer sees from its store what the
// list lacks. Objects named by keep, and those whose transform fails, are Keep items. objs and keep are not retained.
// The error joins one ErrNoKey for each object without a key; the others are queued.
func (q *InOrder[K, T]) Replace(objs []T, keep []K, resourceVersion string) error {
	items, err := q.opts.list(objs, keep)
	q.putBulk(Delta[K, T]{Type: ReplacedAll, Bulk: &Bulk[K, T]{ResourceVersion: resourceVersion, Items: items}})
	return err
}

// Resync queues one SyncAll delta. The error is always nil.
func (q *InOrder[K, T]) Resync() error {
	q.putBulk(Delta[K, T]{Type: SyncAll})
	return nil
}

// Bookmark queues one Bookmark delta. The error is always nil.
func (q *InOrder[K, T]) Bookmark(resourceVersion string) error {
	q.putBulk(Delta[K, T]{Type: Bookmark, Bulk: &Bulk[K, T]{ResourceVersion: resourceVersion}})
	return nil
}

func (q *InOrder[K, T]) putBulk(d Delta[K, T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.enqueueLocked(d, true)
}

// enqueueLocked queues a delta. Not ok stands for an event whose transform failed: there is nothing to queue. Under
// backpressure it waits first: a producer that is always faster than the consumer would otherwise fill the memory.
func (q *InOrder[K, T]) enqueueLocked(d Delta[K, T], ok bool) {
	for q.backpressure && !q.closed {
		q.changed.Wait()
	}
	switch {
	case q.syncBegun:
	case d.Type < ReplacedAll:
		q.beginSyncLocked(0)
	case d.Type == ReplacedAll:
		q.beginSyncLocked(q.queued + 1)
	}
	if !ok {
		return
	}
	q.tail = append(q.tail, d)
	q.queued++
	q.changed.Broadcast()
	if q.opts.Metrics.Queued != nil {
		q.opts.Metrics.Queued(q.queued - q.batchLen)
	}
}

// Len returns the number of deltas that were not processed, including those of a running process function.
func (q *InOrder[K, T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.queued
}

// Pending returns a copy of the deltas that wait, oldest first, without those of a running process function.
func (q *InOrder[K, T]) Pending() []Delta[K, T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Concat(q.head[q.done+q.batchLen:], q.tail)
}
