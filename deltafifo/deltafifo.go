package deltafifo

import "sync"

// DeltaFIFO gathers changes per key. A key is in the queue once, at the place of its first pending change. Its later
// changes join its list, so one Pop hands out all that happened to one object since it was last popped.
//
//	            keys, in order of their first change          lists of deltas, oldest first
//	Pop ◀──     default/a ─────────────────────────────────▶  [Added a@1, Updated a@2]
//	            default/b ─────────────────────────────────▶  [Updated b@7]
//	Update ──▶  default/c ─────────────────────────────────▶  [Deleted c@4, Added c@9]
//
// All methods may be called from any goroutine.
type DeltaFIFO[K comparable, T any] struct {
	in      intake[K, T]
	known   KnownObjects[K, T]
	metrics Metrics

	// mu protects everything below, and the agreement between the queue and the known objects. Pop's process function
	// runs under it, because Delete, Replace and Resync must not look at a store that lags behind the queue.
	mu       sync.Mutex
	nonEmpty sync.Cond
	// oldest and newest are the ends of the queue, which is linked by pending.next.
	// Invariant: items and the queue hold the same entries, each with at least one delta and never two Deleted in a row.
	items          map[K]*pending[K, T]
	oldest, newest *pending[K, T]
	// free are entries for reuse, linked by next. made is how many entries there are, queued or free.
	free *pending[K, T]
	made int
	// peak is the greatest number of items since the queue was last empty.
	peak   int
	synced initialSync
	closed bool
}

// NewDeltaFIFO returns an empty queue. It panics without a KeyFunc.
func NewDeltaFIFO[K comparable, T any](opts Options[K, T]) *DeltaFIFO[K, T] {
	f := &DeltaFIFO[K, T]{
		in:      newIntake(opts),
		known:   opts.Known,
		metrics: opts.Metrics,
		items:   map[K]*pending[K, T]{},
		synced:  newInitialSync(),
	}
	f.nonEmpty.L = &f.mu
	return f
}

// Add queues an Added delta. When the transform fails, nothing is queued. The error wraps ErrNoKey.
func (f *DeltaFIFO[K, T]) Add(obj T) error { return f.put(Delta[K, T]{Type: Added, Obj: obj}) }

// Update queues an Updated delta. When the transform fails, nothing is queued. The error wraps ErrNoKey.
func (f *DeltaFIFO[K, T]) Update(obj T) error { return f.put(Delta[K, T]{Type: Updated, Obj: obj}) }

// Delete queues a Deleted delta with the object as it was when it went. It is Missing if the transform fails. A key that
// is neither queued nor known was reported gone before: it is not reported twice. The error wraps ErrNoKey.
func (f *DeltaFIFO[K, T]) Delete(obj T) error { return f.put(Delta[K, T]{Type: Deleted, Obj: obj}) }

func (f *DeltaFIFO[K, T]) put(d Delta[K, T]) error {
	ok, err := f.in.complete(&d)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced.firstEventLocked()
	if ok && d.Type == Deleted {
		_, _, ok = f.lastLocked(d.Key)
	}
	if ok {
		f.appendLocked(d)
	}
	return nil
}

// DeleteKey queues a tombstone with the newest version queued or known. It is for an object that the server says is
// gone, when what the server sent could not be read. A key that is neither queued nor known is left alone. The error is
// always nil.
func (f *DeltaFIFO[K, T]) DeleteKey(key K) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced.firstEventLocked()
	if obj, missing, exists := f.lastLocked(key); exists {
		f.appendLocked(tombstone(key, obj, missing))
	}
	return nil
}

// DeleteUnknown is DeleteKey for a caller that knows a version of the object. The tombstone carries obj, which is not
// transformed. The error is always nil.
func (f *DeltaFIFO[K, T]) DeleteUnknown(key K, obj T) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced.firstEventLocked()
	if _, _, exists := f.lastLocked(key); exists {
		f.appendLocked(tombstone(key, obj, false))
	}
	return nil
}

// Bookmark does nothing: deltas that wait per key are in no order that a resourceVersion could be a point of. Use
// InOrder where the store must follow bookmarks. The error is always nil.
func (f *DeltaFIFO[K, T]) Bookmark(string) error { return nil }

// Close wakes every waiting Pop. What is queued can still be popped; then Pop returns ErrClosed. Producers are not
// refused. Close may be called more than once.
func (f *DeltaFIFO[K, T]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.nonEmpty.Broadcast()
}

// HasSynced tells whether the last entry of the first Replace was processed, or an Add, Update, Delete or DeleteKey came
// before any Replace. It never blocks, and process functions may call it.
func (f *DeltaFIFO[K, T]) HasSynced() bool { return f.synced.isDone() }

// Synced returns a channel that is closed when HasSynced turns true.
func (f *DeltaFIFO[K, T]) Synced() <-chan struct{} { return f.synced.done }

// Len returns the number of keys with pending deltas. It waits for a running process function.
func (f *DeltaFIFO[K, T]) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.items)
}

// Pending returns a copy of all pending deltas, for whoever looks on. Keys are in the order in which Pop will take them;
// the deltas of a key stand together, oldest first. It waits for a running process function.
func (f *DeltaFIFO[K, T]) Pending() (ds []Delta[K, T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := f.oldest; p != nil; p = p.next {
		ds = append(ds, p.deltas...)
	}
	return ds
}
