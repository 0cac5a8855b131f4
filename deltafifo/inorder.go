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
	// Invariant: head[:next] is zero, and so are tail and head between their length and capacity.
	head, tail []Delta[K, T]
	// next is the first delta of head that was not processed. The consumer owns the taken ones from there.
	next, taken int
	queued      int  // how many deltas were not processed: head[next:] and tail
	popping     bool // a consumer waits or processes
	// backpressure: at least two full batches follow the one being processed. Producers wait for its end.
	backpressure bool
	highWater    int            // how much of the buffers is used at most; decays slowly
	seen         map[K]struct{} // finds repeated keys in a batch, else empty; nil if keys may repeat
}

// NewInOrder returns an empty queue. It panics without a KeyFunc.
func NewInOrder[K comparable, T any](opts Options[K, T]) *InOrder[K, T] {
	if opts.BatchSize <= 0 {
		opts.BatchSize = defaultBatchSize
	}
	q := &InOrder[K, T]{}
	if !opts.KeysMayRepeat {
		q.seen = map[K]struct{}{}
	}
	q.init(opts, q.pushEvent)
	return q
}

// PutAll is Add, Update or Delete for each delta, by its type, in order. All of them cost one lock and one wakeup, and
// no other producer's deltas come between. Only Type and Obj need be set. The slice is scratch: the queue overwrites
// it, and does not retain it. PutAll returns nil, or one error or nil for each delta.
func (q *InOrder[K, T]) PutAll(deltas []Delta[K, T]) (errs []error) {
	events, n := 0, 0
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
			deltas[n] = deltas[i]
			n++
		}
	}
	if events > 0 {
		q.append(deltas[:n]...)
	}
	return errs
}

// Replace queues a list as one ReplacedAll delta. It makes no tombstones: the consumer sees from its store what the
// list lacks. Objects named by keep, and those whose transform fails, are Keep items. objs and keep are not retained.
// The error joins one ErrNoKey for each object without a key; the others are queued.
func (q *InOrder[K, T]) Replace(objs []T, keep []K, resourceVersion string) error {
	items, err := q.opts.list(objs, keep)
	q.append(Delta[K, T]{Type: ReplacedAll, Bulk: &Bulk[K, T]{ResourceVersion: resourceVersion, Items: items}})
	return err
}

// Resync queues one SyncAll delta. The error is always nil.
func (q *InOrder[K, T]) Resync() error {
	q.append(Delta[K, T]{Type: SyncAll})
	return nil
}

// Bookmark queues one Bookmark delta. The error is always nil.
func (q *InOrder[K, T]) Bookmark(resourceVersion string) error {
	q.append(Delta[K, T]{Type: Bookmark, Bulk: &Bulk[K, T]{ResourceVersion: resourceVersion}})
	return nil
}

func (q *InOrder[K, T]) pushEvent(d Delta[K, T], ok bool) {
	if ok {
		q.append(d)
	} else {
		q.append()
	}
}

// append queues one bulk delta or any number of events. None stands for events whose transforms failed. Under
// backpressure it waits first: a producer that is always faster than the consumer would otherwise fill the memory.
func (q *InOrder[K, T]) append(ds ...Delta[K, T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.backpressure && !q.closed {
		q.changed.Wait()
	}
	q.tail = append(q.tail, ds...)
	q.queued += len(ds)
	switch {
	case q.populated:
	case len(ds) == 0 || ds[0].Type < ReplacedAll:
		q.firstListLocked(0)
	case ds[0].Type == ReplacedAll:
		q.firstListLocked(q.queued)
	}
	if len(ds) > 0 {
		q.opts.Metrics.Queued(q.queued - q.taken)
		q.changed.Broadcast()
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
	return slices.Concat(q.head[q.next+q.taken:], q.tail)
}
