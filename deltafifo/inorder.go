package deltafifo

import (
	"slices"
	"sync"
	"time"

	"glasswatch/internal/shrink"
)

// InOrder hands out every event in the order in which it came.
//
//	                   taken, an array
//	              ┌───────────────────────┐
//	consumer ◀──  │ (done) │ batch │ head │         [ tail ]  ◀──append── producers
//	              └───────────────────────┘
//
// Producers append to tail. The consumer processes a batch, with no lock held, and then takes the next one from head. If
// head is used up, tail becomes head, whole, and the used array becomes the next tail. So no delta is copied, and memory
// is reused.
type InOrder[K comparable, T any] struct {
	opts    Options[K, T]
	mu      sync.Mutex // protects what is below; methods named …Locked are called with it
	changed sync.Cond  // wakes a consumer that waits for deltas, and producers that wait for room
	closed  bool
	initial initialSync
	// Invariant: tail's array is zero behind tail, and taken's array is zero except for batch and head.
	tail    []Delta[K, T]
	head    []Delta[K, T]
	batch   []Delta[K, T]
	taken   []Delta[K, T]
	popping bool // a consumer waits or processes
	// backpressure: the pop in progress left two full batches or more. Producers wait until it ends. That is decided when
	// a pop begins, and holds for that pop. While no pop is in progress, nothing bounds the queue.
	backpressure bool
	seen         map[K]struct{} // finds repeated keys in a batch, else empty
	highWater    int            // the longest head of late; decays slowly
}

// NewInOrder returns an empty queue. It panics without a KeyFunc.
func NewInOrder[K comparable, T any](opts Options[K, T]) *InOrder[K, T] {
	q := &InOrder[K, T]{opts: opts.withDefaults(), seen: map[K]struct{}{}, initial: initialSync{done: make(chan struct{})}}
	q.changed.L = &q.mu
	return q
}

// Add queues an Added delta. When the transform fails, nothing is queued. The error says that obj has no key.
func (q *InOrder[K, T]) Add(obj T) error { return q.put(Added, obj) }

// Update queues an Updated delta, like Add.
func (q *InOrder[K, T]) Update(obj T) error { return q.put(Updated, obj) }

// Delete queues a Deleted delta with the object as it was when it went, Missing if the transform fails. The error says
// that obj has no key.
func (q *InOrder[K, T]) Delete(obj T) error { return q.put(Deleted, obj) }

func (q *InOrder[K, T]) put(t DeltaType, obj T) error {
	d, err := q.opts.deltaOf(t, obj)
	if err != nil {
		return err
	}
	q.lockForProducer()
	defer q.mu.Unlock()
	q.acceptLocked(d)
	return nil
}

// DeleteKey queues a tombstone without an object, for a deletion whose object could not be read. It returns nil.
func (q *InOrder[K, T]) DeleteKey(key K) error {
	q.lockForProducer()
	defer q.mu.Unlock()
	q.acceptLocked(Delta[K, T]{Type: Deleted, Key: key, Missing: true, FinalStateUnknown: true})
	return nil
}

// PutAll is Add, Update or Delete for each delta, by its type, in order. They cost one lock, and no other producer's
// deltas come between. Only Type and Obj need be set. The slice is scratch: the queue overwrites it, and does not retain
// it. PutAll returns nil, or one error or nil for each delta. Other types are errors.
func (q *InOrder[K, T]) PutAll(deltas []Delta[K, T]) (errs []error) {
	accepted := deltas[:0]
	for i := range deltas {
		d, err := q.opts.eventOf(deltas[i].Type, deltas[i].Obj)
		if err == nil {
			accepted = append(accepted, d)
			continue
		}
		if errs == nil {
			errs = make([]error, len(deltas))
		}
		errs[i] = err
	}
	q.lockForProducer()
	defer q.mu.Unlock()
	for i := range accepted {
		q.acceptLocked(accepted[i])
	}
	return errs
}

// acceptLocked queues a change of one object. It leaves out an Added or Updated without a readable object.
func (q *InOrder[K, T]) acceptLocked(d Delta[K, T]) {
	q.initial.eventCame()
	if !d.Missing || d.Type == Deleted {
		q.enqueueLocked(d)
	}
}

// Replace queues a list as one ReplacedAll delta. It makes no tombstones: the consumer sees from its store what the
// list lacks. Objects named by keep, and those whose transform fails, are Keep items. objs and keep are not retained.
// The error joins one for each object without a key; the others are queued. A reflector takes an error for a list that
// failed, and lists again after a wait, as client-go's does.
func (q *InOrder[K, T]) Replace(objs []T, keep []K, resourceVersion string) error {
	items, err := q.opts.itemsOf(objs, keep)
	q.lockForProducer()
	defer q.mu.Unlock()
	q.initial.listQueued(len(q.batch) + q.waitingLocked() + 1) // what came before, and the list
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
	q.lockForProducer()
	defer q.mu.Unlock()
	q.enqueueLocked(d)
}

// lockForProducer locks mu, and waits while there is backpressure: a producer that is always faster than the consumer
// would otherwise fill the memory.
func (q *InOrder[K, T]) lockForProducer() {
	q.mu.Lock()
	for q.backpressure && !q.closed {
		q.changed.Wait()
	}
}

// enqueueLocked puts a delta at the end of tail and wakes the consumer. It calls the user's metrics.
func (q *InOrder[K, T]) enqueueLocked(d Delta[K, T]) {
	q.tail = append(q.tail, d)
	q.changed.Broadcast()
	q.opts.Metrics.Queued(q.waitingLocked())
}

// waitingLocked returns the number of deltas that are neither processed nor being processed.
func (q *InOrder[K, T]) waitingLocked() int { return len(q.head) + len(q.tail) }

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
// initial list. A batch may be shorter than what waits, where head ends. The slice is process's own only during the
// call.
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
	for q.waitingLocked() == 0 {
		if q.closed {
			return ErrClosed
		}
		q.changed.Wait()
	}
	if len(q.head) == 0 {
		q.swapLocked()
	}
	n := q.batchLenLocked(limit)
	left := q.waitingLocked() - n
	q.opts.Metrics.Queued(left)
	batch := slices.Clip(q.head[:n]) // so that an append of process does not write to head
	q.batch = batch
	q.head = q.head[n:]
	q.backpressure = left/2 >= q.opts.BatchSize // doubling BatchSize could overflow
	isInInitialList := !q.initial.isDone()
	q.mu.Unlock()
	defer q.mu.Lock() // process runs without the lock
	if q.opts.Metrics.Processed != nil {
		start := time.Now()
		defer func() { q.opts.Metrics.Processed(time.Since(start)) }()
	}
	return process(batch, isInInitialList)
}

// swapLocked makes tail the next head. The used-up array becomes tail, unless it is what a burst has left. The high-water
// mark decays slowly, since a consumer may wake for single events between full batches.
func (q *InOrder[K, T]) swapLocked() {
	used := q.taken
	q.taken = q.tail
	q.head = q.tail
	q.tail = used[:0]
	q.highWater = max(len(used), q.highWater*31/32)
	if shrink.IsDue(cap(used), q.highWater) {
		q.tail = nil
		q.seen = map[K]struct{}{}
	}
}

// batchLenLocked returns how many deltas of head are the next batch: until limit, a bulk delta, or a key's second delta.
func (q *InOrder[K, T]) batchLenLocked(limit int) int {
	limit = min(limit, len(q.head))
	if limit == 1 || q.head[0].Type.isBulk() {
		return 1
	}
	defer clear(q.seen)
	for i := range limit {
		if q.head[i].Type.isBulk() {
			return i
		}
		if q.opts.KeysMayRepeat {
			continue
		}
		q.seen[q.head[i].Key] = struct{}{}
		if len(q.seen) == i {
			return i // the key was there
		}
	}
	return limit
}

// endPopLocked ends a pop, when its process function has returned or panicked, or nothing was taken.
func (q *InOrder[K, T]) endPopLocked() {
	q.initial.processed(len(q.batch))
	clear(q.batch) // popped objects are not kept
	q.batch = nil
	q.popping = false
	if q.backpressure {
		q.backpressure = false
		q.changed.Broadcast()
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
	return len(q.batch) + q.waitingLocked()
}

// Pending returns a copy of the deltas that wait, oldest first, without those of a running process function.
func (q *InOrder[K, T]) Pending() []Delta[K, T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Concat(q.head, q.tail)
}
