package deltafifo

import "sync"

// InOrder hands out every event in the order in which it came.
//
//		producers ──append──▶ [ tail ]                the events that came since
//		                          │ swapped whole, when head is used up
//		                          ▼
//		                      [ head ]──▶ batch ──▶ process, with no lock held
//
//	 1. A producer appends to tail under the lock.
//	 2. The consumer, once it has used up head, swaps the two: the old head is the next tail, its memory is reused.
//	 3. A batch is a stretch of head, not a copy. It is zeroed when it was processed.
//
// Producers may call from any goroutine; there is one consumer.
type InOrder[K comparable, T any] struct {
	in        intake[K, T]
	batchSize int
	metrics   Metrics

	// mu protects everything down to the blank line. No user code runs under it.
	mu       sync.Mutex
	nonEmpty sync.Cond
	room     sync.Cond
	tail     []Delta[K, T]
	// next is the first delta of head that was not processed.
	next int
	// popping: a consumer waits or processes.
	popping bool
	// taken is how many deltas are being processed, as far as Metrics asks for it.
	taken int
	// held: a batch is being processed that at least two full ones follow; producers wait in room for its end.
	held   bool
	closed bool
	// wasted counts swaps of large buffers that were hardly used, since the last well used one.
	wasted int
	synced initialSync

	// head and unique belong to the consumer: they are written only by the goroutine that set popping, head under mu too.
	// Invariant: head[:next] is zero, and so are tail and head between their length and capacity.
	head   []Delta[K, T]
	unique *keySet[K] // nil if keys may repeat
}

// NewInOrder returns an empty queue. It panics without a KeyFunc. Options.Known is not used: the queue asks nothing back.
func NewInOrder[K comparable, T any](opts Options[K, T]) *InOrder[K, T] {
	q := &InOrder[K, T]{
		in:        newIntake(opts),
		batchSize: opts.BatchSize,
		metrics:   opts.Metrics,
		synced:    initialSync{done: make(chan struct{})},
	}
	if !opts.KeysMayRepeat {
		set := newKeySet[K]()
		q.unique = &set
	}
	if q.batchSize <= 0 {
		q.batchSize = defaultBatchSize
	}
	q.nonEmpty.L = &q.mu
	q.room.L = &q.mu
	return q
}

// Add queues an Added delta. When the transform fails, nothing is queued. The error is a *KeyError.
func (q *InOrder[K, T]) Add(obj T) error { return q.put(Added, obj) }

// Update queues an Updated delta. When the transform fails, nothing is queued. The error is a *KeyError.
func (q *InOrder[K, T]) Update(obj T) error { return q.put(Updated, obj) }

// Delete queues a Deleted delta with the object as it was when it went, Missing if the transform fails. The queue does
// not know whether the consumer has the object. The error is a *KeyError.
func (q *InOrder[K, T]) Delete(obj T) error { return q.put(Deleted, obj) }

func (q *InOrder[K, T]) put(t DeltaType, obj T) error {
	d := Delta[K, T]{Type: t, Obj: obj}
	known, err := q.in.complete(&d)
	if err != nil {
		return err
	}
	q.lockForAppend()
	defer q.mu.Unlock()
	q.synced.firstEventLocked()
	if known {
		q.appendLocked(d)
	}
	return nil
}

// PutAll is Add, Update or Delete for each delta, by its type, in order, with one lock and one wakeup for all of them: Type
// must be Added, Updated or Deleted, and Obj is the object; the other fields are filled in. The slice is scratch: the queue
// overwrites it, and does not retain it. Other producers' deltas come before or after, not between.
//
// PutAll returns nil, or what Add, Update or Delete would have returned, one for each delta.
func (q *InOrder[K, T]) PutAll(deltas []Delta[K, T]) (errs []error) {
	named, n := 0, 0
	for i := range deltas {
		d := &deltas[i]
		known, err := q.in.complete(d)
		if err != nil {
			if errs == nil {
				errs = make([]error, len(deltas))
			}
			errs[i] = err
			continue
		}
		named++
		if known {
			deltas[n] = *d
			n++
		}
	}
	if named == 0 {
		return errs
	}
	q.lockForAppend()
	defer q.mu.Unlock()
	q.synced.firstEventLocked()
	if n > 0 {
		q.tail = append(q.tail, deltas[:n]...)
		q.appendedLocked()
	}
	return errs
}

// DeleteKey queues a Deleted delta without an object and of unknown final state: the server says that the object is gone,
// but what it sent could not be read. The error is always nil.
func (q *InOrder[K, T]) DeleteKey(key K) error {
	q.lockForAppend()
	defer q.mu.Unlock()
	q.synced.firstEventLocked()
	q.appendLocked(Delta[K, T]{Type: Deleted, Key: key, Missing: true, FinalStateUnknown: true})
	return nil
}

// Replace queues a list as one ReplacedAll delta. keep names objects that the server has and that could not be read; they,
// and objects whose transform fails, are Keep items. objs and keep are not retained.
//
// The error joins a *KeyError for each object without a key; the others are queued all the same.
func (q *InOrder[K, T]) Replace(objs []T, keep []K, resourceVersion string) error {
	items, err := q.in.list(objs, keep)
	q.lockForAppend()
	defer q.mu.Unlock()
	q.appendLocked(Delta[K, T]{Type: ReplacedAll, Bulk: &Bulk[K, T]{ResourceVersion: resourceVersion, Items: items}})
	q.synced.firstListLocked(q.lenLocked())
	return err
}

// Resync queues one SyncAll delta. The error is always nil.
func (q *InOrder[K, T]) Resync() error {
	q.lockForAppend()
	defer q.mu.Unlock()
	q.appendLocked(Delta[K, T]{Type: SyncAll})
	return nil
}

// Bookmark queues one Bookmark delta. The error is always nil.
func (q *InOrder[K, T]) Bookmark(resourceVersion string) error {
	q.lockForAppend()
	defer q.mu.Unlock()
	q.appendLocked(Delta[K, T]{Type: Bookmark, Bulk: &Bulk[K, T]{ResourceVersion: resourceVersion}})
	return nil
}

// Close wakes a waiting pop and every waiting producer. What is queued can still be popped; then the pops return
// ErrClosed. Producers are not refused. Close may be called more than once.
func (q *InOrder[K, T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.nonEmpty.Broadcast()
	q.room.Broadcast()
}

// HasSynced tells whether the first Replace was processed, or an Add, Update, Delete or DeleteKey came before any Replace.
// It never blocks.
func (q *InOrder[K, T]) HasSynced() bool { return q.synced.isDone.Load() }

// Synced returns a channel that is closed when HasSynced turns true.
func (q *InOrder[K, T]) Synced() <-chan struct{} { return q.synced.done }

// Len returns the number of deltas that were not processed, those of a running process function included.
func (q *InOrder[K, T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lenLocked()
}

func (q *InOrder[K, T]) lenLocked() int { return len(q.head) - q.next + len(q.tail) }

// lockForAppend takes the lock, and while the consumer is two batches behind, waits for the end of the one it is at: a
// producer that is always faster would otherwise fill the memory.
func (q *InOrder[K, T]) lockForAppend() {
	q.mu.Lock()
	for q.held && !q.closed {
		q.room.Wait()
	}
}

func (q *InOrder[K, T]) appendLocked(d Delta[K, T]) {
	q.tail = append(q.tail, d)
	q.appendedLocked()
}

func (q *InOrder[K, T]) appendedLocked() {
	q.metrics.queued(q.lenLocked() - q.taken)
	// Returns at once when nobody waits.
	q.nonEmpty.Signal()
}
