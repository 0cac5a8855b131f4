package deltafifo

import "sync"

// DeltaFIFO gathers changes per key. A key is in the queue once, at the place of its first pending change; its later
// changes join its list, so that one Pop hands out all that happened to one object since it was last popped.
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

	// mu protects everything below, and the agreement between the queue and the known objects: Pop's process function
	// runs under it, because Delete, Replace and Resync must not look at a store that lags behind the queue.
	mu       sync.Mutex
	nonEmpty sync.Cond
	// Invariant: items and queue hold the same entries, each with at least one delta and never two Deleted in a row.
	items table[K, T]
	queue ring[*pending[K, T]]
	// roundPeak is the greatest number of items since the queue was last empty.
	roundPeak int
	// lists counts the Replaces.
	lists  uint64
	synced initialSync
	closed bool
}

// NewDeltaFIFO returns an empty queue. It panics without a KeyFunc.
func NewDeltaFIFO[K comparable, T any](opts Options[K, T]) *DeltaFIFO[K, T] {
	f := &DeltaFIFO[K, T]{
		in:      newIntake(opts),
		known:   opts.Known,
		metrics: opts.Metrics,
		items:   newTable[K, T](),
		synced:  initialSync{done: make(chan struct{})},
	}
	f.nonEmpty.L = &f.mu
	return f
}

// Add queues an Added delta. When the transform fails, nothing is queued. The error is a *KeyError.
func (f *DeltaFIFO[K, T]) Add(obj T) error { return f.put(Added, obj) }

// Update queues an Updated delta. When the transform fails, nothing is queued. The error is a *KeyError.
func (f *DeltaFIFO[K, T]) Update(obj T) error { return f.put(Updated, obj) }

func (f *DeltaFIFO[K, T]) put(t DeltaType, obj T) error {
	key, err := f.in.key(obj)
	if err != nil {
		return err
	}
	obj, ok := f.in.transform(key, obj)
	hash := f.items.hash(key)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced.firstEventLocked()
	if ok {
		f.appendLocked(hash, Delta[K, T]{Type: t, Key: key, Obj: obj})
	}
	return nil
}

// Delete queues a Deleted delta with the object as it was when it went, Missing if the transform fails. A key that is
// neither queued nor known was reported gone before: it is not reported twice. The error is a *KeyError.
func (f *DeltaFIFO[K, T]) Delete(obj T) error {
	key, err := f.in.key(obj)
	if err != nil {
		return err
	}
	obj, ok := f.in.transform(key, obj)
	hash := f.items.hash(key)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced.firstEventLocked()
	if _, _, exists := f.lastLocked(key, hash); exists {
		f.appendLocked(hash, Delta[K, T]{Type: Deleted, Key: key, Obj: obj, Missing: !ok})
	}
	return nil
}

// DeleteKey queues a Deleted delta of unknown final state: the server says that the object is gone, but what it sent
// could not be read. The delta carries the newest version queued or known. A key that is neither is left alone. The
// error is always nil.
func (f *DeltaFIFO[K, T]) DeleteKey(key K) error {
	hash := f.items.hash(key)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced.firstEventLocked()
	if obj, missing, exists := f.lastLocked(key, hash); exists {
		f.appendLocked(hash, tombstone(key, obj, missing))
	}
	return nil
}

// Bookmark does nothing: deltas that wait per key are in no order that a resourceVersion could be a point of. Use the
// in-order queue where the store must follow bookmarks. The error is always nil.
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
func (f *DeltaFIFO[K, T]) HasSynced() bool { return f.synced.isDone.Load() }

// Synced returns a channel that is closed when HasSynced turns true.
func (f *DeltaFIFO[K, T]) Synced() <-chan struct{} { return f.synced.done }

// Len returns the number of keys with pending deltas. It waits for a running process function.
func (f *DeltaFIFO[K, T]) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.queue.len()
}

// Pop takes the oldest key and gives process all its deltas, oldest first. It blocks until there is a key; once the
// queue is closed and empty it returns ErrClosed. The key is gone from the queue whatever process returns, which Pop
// returns as it is.
//
// process runs under the queue's lock, so that it can bring the known objects in line before anybody else looks: it must
// not call the queue (HasSynced and Synced excepted) and should be short. The deltas are its own only during the call.
func (f *DeltaFIFO[K, T]) Pop(process func(key K, ds []Delta[K, T], isInInitialList bool) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.takeLocked()
	if err != nil {
		return err
	}
	// Deferred, so that a process function that panics leaves a queue that works.
	defer f.processedLocked(p, f.metrics.start())
	return process(p.key, p.deltas, !f.synced.isDone.Load())
}

// PopBatch is Pop for a consumer that does not mind which kind of queue it has: InOrder's has the same signature. Each
// delta says its key.
func (f *DeltaFIFO[K, T]) PopBatch(process func(ds []Delta[K, T], isInInitialList bool) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.takeLocked()
	if err != nil {
		return err
	}
	defer f.processedLocked(p, f.metrics.start())
	return process(p.deltas, !f.synced.isDone.Load())
}

// takeLocked waits for a key and takes the oldest. After a nil error, processedLocked must be called.
func (f *DeltaFIFO[K, T]) takeLocked() (*pending[K, T], error) {
	for f.queue.len() == 0 {
		if f.closed {
			return nil, ErrClosed
		}
		f.nonEmpty.Wait()
	}
	p := f.queue.pop()
	f.items.remove(p)
	f.metrics.queued(f.queue.len())
	return p, nil
}
