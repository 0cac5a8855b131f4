package deltafifo

import "sync"

// DeltaFIFO gathers changes per key. A key is in the queue once, at the place of its first pending change. Its later
// changes join its list, so one Pop hands out all that happened to one object since it was last popped.
//
//	            keys, in order of their first change     lists of deltas, oldest first
//	Pop ◀──     default/a ────────────────────────────▶  [Added a@1, Updated a@2]
//	            default/b ────────────────────────────▶  [Updated b@7]
//	Update ──▶  default/c ────────────────────────────▶  [Deleted c@4, Added c@9]
//
// The lock also protects the agreement between the queue and the known objects. Pop's process function runs under it,
// because Delete, Replace and Resync ask the known objects, which must not lag behind the queue meanwhile.
type DeltaFIFO[K comparable, T any] struct {
	opts    Options[K, T]
	mu      sync.Mutex // protects what is below; methods named …Locked are called with it
	changed sync.Cond  // wakes consumers that wait for a key
	closed  bool
	initial initialSync
	// oldest and newest are the ends of the queue, which is linked by entry.next.
	// Invariant: items and the queue have the same entries, each with at least one delta, never two Deleted in a row.
	items          map[K]*entry[K, T]
	oldest, newest *entry[K, T]
	free           *entry[K, T] // entries for reuse, linked by next
	made           int          // how many entries there are, queued or free
	peak           int          // the greatest number of items since the queue was last empty
}

// NewDeltaFIFO returns an empty queue. It panics without a KeyFunc.
func NewDeltaFIFO[K comparable, T any](opts Options[K, T]) *DeltaFIFO[K, T] {
	opts.check()
	f := &DeltaFIFO[K, T]{opts: opts, items: map[K]*entry[K, T]{}, initial: initialSync{done: make(chan struct{})}}
	f.changed.L = &f.mu
	return f
}

// Add queues an Added delta. When the transform fails, nothing is queued. The error wraps ErrNoKey.
func (f *DeltaFIFO[K, T]) Add(obj T) error { return f.put(Added, obj) }

// Update queues an Updated delta, like Add.
func (f *DeltaFIFO[K, T]) Update(obj T) error { return f.put(Updated, obj) }

func (f *DeltaFIFO[K, T]) put(t DeltaType, obj T) error {
	key, err := f.opts.keyOf(obj)
	if err != nil {
		return err
	}
	obj, readable := f.opts.transformOrReport(key, obj)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial.eventCame()
	if readable {
		f.appendLocked(Delta[K, T]{Type: t, Key: key, Obj: obj})
	}
	return nil
}

// Delete queues a Deleted delta with the object as it was when it went, Missing if the transform fails. The deletion of
// a key that is neither queued nor known is dropped. The error wraps ErrNoKey.
func (f *DeltaFIFO[K, T]) Delete(obj T) error {
	key, err := f.opts.keyOf(obj)
	if err != nil {
		return err
	}
	obj, readable := f.opts.transformOrReport(key, obj)
	f.deleteIfPresent(Delta[K, T]{Type: Deleted, Key: key, Obj: obj, Missing: !readable})
	return nil
}

// DeleteKey queues a tombstone for a deletion whose object could not be read. It carries the last queued delta's object,
// if that has one. With nothing queued it carries the known object; if there is none, the key is dropped. It returns nil.
func (f *DeltaFIFO[K, T]) DeleteKey(key K) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial.eventCame()
	d, found := f.tombstoneLocked(key)
	if found {
		f.appendLocked(d)
	}
	return nil
}

// DeleteUnknown is DeleteKey, but the tombstone carries obj, which is not transformed. The error is always nil.
func (f *DeltaFIFO[K, T]) DeleteUnknown(key K, obj T) error {
	f.deleteIfPresent(Delta[K, T]{Type: Deleted, Key: key, Obj: obj, FinalStateUnknown: true})
	return nil
}

// deleteIfPresent queues a deletion, unless its key is neither queued nor known.
func (f *DeltaFIFO[K, T]) deleteIfPresent(d Delta[K, T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial.eventCame()
	if f.isPresentLocked(d.Key) {
		f.appendLocked(d)
	}
}

// isPresentLocked reports whether a key is queued or known.
func (f *DeltaFIFO[K, T]) isPresentLocked(key K) bool {
	if f.items[key] != nil {
		return true
	}
	if f.opts.Known == nil {
		return false
	}
	_, known := f.opts.Known.GetByKey(key)
	return known
}

// Close wakes all calls that wait. What is queued can still be popped; then the pops return ErrClosed.
func (f *DeltaFIFO[K, T]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.changed.Broadcast()
}

// HasSynced tells whether all that the first Replace queued was processed, or an event of a single object came before
// any Replace. It never blocks, and process functions may call it.
func (f *DeltaFIFO[K, T]) HasSynced() bool { return f.initial.isDone() }

// Synced returns a channel that is closed when HasSynced turns true.
func (f *DeltaFIFO[K, T]) Synced() <-chan struct{} { return f.initial.done }

// Bookmark does nothing: deltas per key are in no order that a resourceVersion could be a point of. It returns nil.
func (f *DeltaFIFO[K, T]) Bookmark(string) error { return nil }

// Len returns the number of keys with pending deltas. It waits for a running process function.
func (f *DeltaFIFO[K, T]) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.items)
}

// Pending returns a copy of all deltas, key by key as Pop will take them. It waits for a running process function.
func (f *DeltaFIFO[K, T]) Pending() (ds []Delta[K, T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := f.oldest; p != nil; p = p.next {
		ds = append(ds, p.deltas...)
	}
	return ds
}
