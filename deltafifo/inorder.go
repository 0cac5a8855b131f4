package deltafifo

import (
	"fmt"
	"slices"
	"sync"
)

// InOrder hands out every event in the order in which it came.
//
//	producers ──append──▶ [ tail ]                the events that came since
//	                          │ swapped whole, when head is used up
//	                          ▼
//	                      [ head ]──▶ batch ──▶ process, with no lock held
//
// A batch is a part of head, not a copy. The used-up head becomes the next tail, so its memory is reused.
type InOrder[K comparable, T any] struct {
	opts    Options[K, T]
	mu      sync.Mutex // protects what is below; methods named …Locked are called with it
	changed sync.Cond  // wakes a consumer that waits for deltas, and producers that wait for room
	closed  bool
	initial initialSync
	// Invariant: head[:done] is zero, and so are tail and head between their length and capacity.
	head, tail []Delta[K, T]
	done       int  // how many deltas of head were processed
	batchLen   int  // how many deltas of head, from done on, are being processed
	queued     int  // how many deltas were not processed: head[done:] and tail
	popping    bool // a consumer waits or processes
	// backpressure: the pop in progress left two full batches or more. Producers wait until it ends. That is decided when
	// a pop begins, and holds for that pop. While no pop is in progress, nothing bounds the queue.
	backpressure bool
	highWater    int            // the longest head of late; decays slowly
	seen         map[K]struct{} // finds repeated keys in a batch, else empty or nil
}

// NewInOrder returns an empty queue. It panics without a KeyFunc.
func NewInOrder[K comparable, T any](opts Options[K, T]) *InOrder[K, T] {
	if opts.BatchSize <= 0 {
		opts.BatchSize = 1000
	}
	opts.check()
	q := &InOrder[K, T]{opts: opts, initial: initialSync{done: make(chan struct{})}}
	q.changed.L = &q.mu
	return q
}

// Add queues an Added delta. When the transform fails, nothing is queued. The error wraps ErrNoKey.
func (q *InOrder[K, T]) Add(obj T) error { return q.put(Added, obj) }

// Update queues an Updated delta, like Add.
func (q *InOrder[K, T]) Update(obj T) error { return q.put(Updated, obj) }

// Delete queues a Deleted delta with the object as it was when it went, Missing if the transform fails. The error wraps
// ErrNoKey.
func (q *InOrder[K, T]) Delete(obj T) error { return q.put(Deleted, obj) }

func (q *InOrder[K, T]) put(t DeltaType, obj T) error {
	key, err := q.opts.keyOf(obj)
	if err != nil {
		return err
	}
	obj, readable := q.opts.transformOrReport(key, obj)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waitForRoomLocked()
	q.initial.eventCame()
	if readable || t == Deleted {
		q.enqueueLocked(Delta[K, T]{Type: t, Key: key, Obj: obj, Missing: !readable})
	}
	return nil
}

// DeleteKey queues a tombstone without an object, for a deletion whose object could not be read. It returns nil.
func (q *InOrder[K, T]) DeleteKey(key K) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waitForRoomLocked()
	q.initial.eventCame()
	q.enqueueLocked(Delta[K, T]{Type: Deleted, Key: key, Missing: true, FinalStateUnknown: true})
	return nil
}

// PutAll is Add, Update or Delete for each delta, by its type, in order. All of them cost one lock and one wakeup, and
// no other producer's deltas come between. Only Type and Obj need be set. The slice is scratch: the queue overwrites
// it, and does not retain it. PutAll returns nil, or one error or nil for each delta. Other types are errors.
func (q *InOrder[K, T]) PutAll(deltas []Delta[K, T]) (errs []error) {
	events := 0
	accepted := deltas[:0]
	for i := range deltas {
		d := &deltas[i]
		var key K
		var err error
		if d.Type < Added || d.Type > Deleted {
			err = fmt.Errorf("deltafifo: %v is not Added, Updated or Deleted", d.Type)
		} else {
			key, err = q.opts.keyOf(d.Obj)
		}
		if err != nil {
			if errs == nil {
				errs = make([]error, len(deltas))
			}
			errs[i] = err
			continue
		}
		events++
		obj, readable := q.opts.transformOrReport(key, d.Obj)
		if readable || d.Type == Deleted {
			accepted = append(accepted, Delta[K, T]{Type: d.Type, Key: key, Obj: obj, Missing: !readable})
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waitForRoomLocked()
	if events > 0 {
		q.initial.eventCame()
	}
	for i := range accepted {
		q.enqueueLocked(accepted[i])
	}
	return errs
}

// Replace queues a list as one ReplacedAll delta. It makes no tombstones: the consumer sees from its store what the
// list lacks. Objects named by keep, and those whose transform fails, are Keep items. objs and keep are not retained.
// The error joins one ErrNoKey for each object without a key; the others are queued.
func (q *InOrder[K, T]) Replace(objs []T, keep []K, resourceVersion string) error {
	items, err := q.opts.list(objs, keep)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waitForRoomLocked()
	q.initial.listQueued(q.queued + 1) // what came before, and the list
	q.enqueueLocked(Delta[K, T]{Type: ReplacedAll, Bulk: &Bulk[K, T]{ResourceVersion: resourceVersion, Items: items}})
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

// putBulk queues a delta that is about all objects and is no list.
func (q *InOrder[K, T]) putBulk(d Delta[K, T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waitForRoomLocked()
	q.enqueueLocked(d)
}

// waitForRoomLocked waits while there is backpressure: a producer that is always faster than the consumer would
// otherwise fill the memory. Meanwhile it releases the lock.
func (q *InOrder[K, T]) waitForRoomLocked() {
	for q.backpressure && !q.closed {
		q.changed.Wait()
	}
}

// enqueueLocked puts a delta at the end of tail and wakes the consumer. It calls the user's metrics.
func (q *InOrder[K, T]) enqueueLocked(d Delta[K, T]) {
	q.tail = append(q.tail, d)
	q.queued++
	q.changed.Broadcast()
	if q.opts.Metrics.Queued != nil {
		q.opts.Metrics.Queued(q.queued - q.batchLen)
	}
}

// Close wakes all calls that wait. What is queued can still be popped; then the pops return ErrClosed.
func (q *InOrder[K, T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// HasSynced tells whether all that the first Replace queued was processed, or an event of a single object came before
// any Replace. It never blocks, and process functions may call it.
func (q *InOrder[K, T]) HasSynced() bool { return q.initial.isDone() }

// Synced returns a channel that is closed when HasSynced turns true.
func (q *InOrder[K, T]) Synced() <-chan struct{} { return q.initial.done }

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
