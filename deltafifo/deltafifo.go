package deltafifo

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
	base[K, T]
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
	f := &DeltaFIFO[K, T]{items: map[K]*entry[K, T]{}}
	f.init(opts, f.pushEventLocked)
	return f
}

// DeleteUnknown is DeleteKey, but the tombstone carries obj, which is not transformed. The error is always nil.
func (f *DeltaFIFO[K, T]) DeleteUnknown(key K, obj T) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pushEventLocked(Delta[K, T]{Type: Deleted, Key: key, Obj: obj, FinalStateUnknown: true}, true)
	return nil
}

// pushEventLocked queues an event. The deletion of a key that is neither queued nor known is dropped.
func (f *DeltaFIFO[K, T]) pushEventLocked(d Delta[K, T], ok bool) {
	f.beginSyncLocked(0)
	if ok && d.Type == Deleted {
		var tombstone Delta[K, T]
		tombstone, ok = f.tombstoneLocked(d.Key)
		if d.Missing && d.FinalStateUnknown {
			d = tombstone
		}
	}
	if ok {
		f.appendLocked(d)
	}
}

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
