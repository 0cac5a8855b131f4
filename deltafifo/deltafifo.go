package deltafifo

import (
	"sync"
	"time"

	"glasswatch/internal/shrink"
)

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
	// Invariant: items and the list from oldest to newest have the same entries, each with at least one delta, never two
	// Deleted in a row.
	items  map[K]*entry[K, T]
	oldest *entry[K, T]   // nil if the queue is empty
	newest *entry[K, T]   // means nothing if the queue is empty
	peak   int            // the greatest number of items since the queue was last empty
	free   []*entry[K, T] // for reuse
}

// entry is a key's place in the queue, and what happened to its object since it was last popped.
type entry[K comparable, T any] struct {
	key    K
	deltas []Delta[K, T]
	next   *entry[K, T] // the key behind this one
}

// NewDeltaFIFO returns an empty queue. It panics without a KeyFunc.
func NewDeltaFIFO[K comparable, T any](opts Options[K, T]) *DeltaFIFO[K, T] {
	f := &DeltaFIFO[K, T]{opts: opts.withDefaults(), items: map[K]*entry[K, T]{}, initial: initialSync{done: make(chan struct{})}}
	f.changed.L = &f.mu
	return f
}

// Add queues an Added delta. When the transform fails, nothing is queued. The error says that obj has no key.
func (f *DeltaFIFO[K, T]) Add(obj T) error { return f.put(Added, obj) }

// Update queues an Updated delta, like Add.
func (f *DeltaFIFO[K, T]) Update(obj T) error { return f.put(Updated, obj) }

// Delete queues a Deleted delta with the object as it was when it went, Missing if the transform fails. A deletion of
// a key that is neither queued nor known is dropped. The error says that obj has no key.
func (f *DeltaFIFO[K, T]) Delete(obj T) error { return f.put(Deleted, obj) }

func (f *DeltaFIFO[K, T]) put(t DeltaType, obj T) error {
	d, err := f.opts.deltaOf(t, obj)
	if err != nil {
		return err
	}
	f.accept(d)
	return nil
}

// DeleteUnknown is Delete for a deletion that nobody saw. obj may be older than the object's last state. It is not
// transformed. The error is always nil.
func (f *DeltaFIFO[K, T]) DeleteUnknown(key K, obj T) error {
	f.accept(Delta[K, T]{Type: Deleted, Key: key, Obj: obj, FinalStateUnknown: true})
	return nil
}

// accept queues a change of one object. It leaves out an Added or Updated without a readable object, and a deletion of a
// key that is neither queued nor known.
func (f *DeltaFIFO[K, T]) accept(d Delta[K, T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial.eventCame()
	isWanted := !d.Missing
	if d.Type == Deleted {
		isWanted = f.isKnownOrQueuedLocked(d.Key)
	}
	if isWanted {
		f.appendLocked(d)
	}
}

// DeleteKey is Delete for a deletion whose object could not be read. It queues a tombstone with the last object that was
// queued, or else with the known one. The error is always nil.
func (f *DeltaFIFO[K, T]) DeleteKey(key K) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial.eventCame()
	if f.isKnownOrQueuedLocked(key) {
		f.appendLocked(f.tombstoneLocked(key))
	}
	return nil
}

// appendLocked adds a delta to its key's list. A key that is not in the queue joins it at the end.
func (f *DeltaFIFO[K, T]) appendLocked(d Delta[K, T]) {
	p := f.items[d.Key]
	if p == nil {
		p = f.newEntryLocked(d.Key)
	}
	if n := len(p.deltas); n > 0 && d.Type == Deleted && p.deltas[n-1].Type == Deleted {
		p.deltas[n-1] = foldDeletions(p.deltas[n-1], d)
		return
	}
	p.deltas = append(p.deltas, d)
	if len(p.deltas) == 1 {
		f.opts.Metrics.Queued(len(f.items)) // last of all, because it may panic
	}
}

// newEntryLocked puts a key without deltas at the end of the queue, and wakes one waiting consumer.
func (f *DeltaFIFO[K, T]) newEntryLocked(key K) *entry[K, T] {
	if len(f.free) == 0 {
		f.free = append(f.free, &entry[K, T]{})
	}
	last := len(f.free) - 1
	p := f.free[last]
	f.free = f.free[:last]
	p.key = key
	if f.oldest == nil {
		f.oldest = p
	} else {
		f.newest.next = p
	}
	f.newest = p
	f.items[key] = p
	f.peak = max(f.peak, len(f.items))
	f.changed.Signal()
	return p
}

// foldDeletions returns the better informed of two deletions in a row:
//
//	one has an object          that one
//	the older was seen         the older: it ended the object, and nothing can end it again
//	the older was inferred     the newer: it was seen, or was inferred from a newer list
func foldDeletions[K comparable, T any](older, newer Delta[K, T]) Delta[K, T] {
	keepOlder := !older.FinalStateUnknown
	if older.Missing != newer.Missing {
		keepOlder = newer.Missing
	}
	if keepOlder {
		return older
	}
	return newer
}

// isKnownOrQueuedLocked reports whether there is something to delete under key.
func (f *DeltaFIFO[K, T]) isKnownOrQueuedLocked(key K) bool {
	if f.items[key] != nil {
		return true
	}
	_, isKnown := f.opts.Known.GetByKey(key)
	return isKnown
}

// tombstoneLocked makes a tombstone: a deletion that nobody saw. Its object is that of the key's last queued delta, or,
// if nothing is queued, the known one. If neither has an object, the tombstone is Missing.
func (f *DeltaFIFO[K, T]) tombstoneLocked(key K) Delta[K, T] {
	d := Delta[K, T]{Type: Deleted, Key: key, FinalStateUnknown: true}
	if p := f.items[key]; p != nil {
		last := p.deltas[len(p.deltas)-1]
		d.Obj = last.Obj
		d.Missing = last.Missing
		return d
	}
	obj, isKnown := f.opts.Known.GetByKey(key)
	d.Obj = obj
	d.Missing = !isKnown
	return d
}

// Replace queues a list, in one step: a Replaced delta for each of its objects, in order, and then a tombstone for each
// queued or known key that it lacks. A watch that broke off misses deletions, and the list is the only sign of them.
//
// keep names objects that the server has but that could not be read. They count as listed, and nothing is queued for
// them. The same holds for an object whose transform fails. objs and keep are not retained. The error joins one for each
// object without a key; the others are queued.
func (f *DeltaFIFO[K, T]) Replace(objs []T, keep []K, _ string) error {
	items, err := f.opts.itemsOf(objs, keep)
	listed := make(map[K]struct{}, len(items))
	for i := range items {
		listed[items[i].Key] = struct{}{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, item := range items {
		if !item.Keep {
			f.appendLocked(Delta[K, T]{Type: Replaced, Key: item.Key, Obj: item.Obj})
		}
	}
	f.appendTombstonesLocked(listed)
	f.initial.listQueued(len(f.items))
	return err
}

// appendTombstonesLocked appends a tombstone for each queued or known key that is not listed. Keys that only the store
// knows come second: they are not yet in the queue, and the first loop would meet them again.
func (f *DeltaFIFO[K, T]) appendTombstonesLocked(listed map[K]struct{}) {
	for p := f.oldest; p != nil; p = p.next {
		if _, ok := listed[p.key]; !ok {
			f.appendLocked(f.tombstoneLocked(p.key))
		}
	}
	for _, key := range f.opts.Known.ListKeys() {
		if _, ok := listed[key]; !ok && f.items[key] == nil {
			f.appendLocked(f.tombstoneLocked(key))
		}
	}
}

// Resync queues a Sync delta for each known object that has nothing queued. Where something is queued, the known
// version is about to be outdated. The error is always nil.
func (f *DeltaFIFO[K, T]) Resync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range f.opts.Known.ListKeys() {
		if obj, ok := f.opts.Known.GetByKey(key); ok && f.items[key] == nil {
			f.appendLocked(Delta[K, T]{Type: Sync, Key: key, Obj: obj})
		}
	}
	return nil
}

// Bookmark does nothing: deltas per key are in no order that a resourceVersion could be a point of. It returns nil.
func (f *DeltaFIFO[K, T]) Bookmark(string) error { return nil }

// Pop takes the oldest key and gives process all its deltas, oldest first. It blocks until there is a key. Once the
// queue is closed and empty it returns ErrClosed. Pop returns what process returns. The key is gone in any case.
//
// Pop holds the queue's lock while process runs. Of the queue, process may call only HasSynced, Synced and Bookmark.
// The deltas are its own only during the call. process may panic. isInInitialList tells that HasSynced was still false
// when Pop took the key.
func (f *DeltaFIFO[K, T]) Pop(process func(key K, ds []Delta[K, T], isInInitialList bool) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.oldest == nil {
		if f.closed {
			return ErrClosed
		}
		f.changed.Wait()
	}
	f.opts.Metrics.Queued(len(f.items) - 1) // first of all, because it may panic
	p := f.oldest
	f.oldest = p.next
	delete(f.items, p.key)
	defer f.processedLocked(p) // deferred, because process may panic
	if f.opts.Metrics.Processed != nil {
		start := time.Now()
		defer func() { f.opts.Metrics.Processed(time.Since(start)) }()
	}
	return process(p.key, p.deltas, !f.HasSynced())
}

// PopBatch is Pop with the signature of InOrder's PopBatch, for a consumer of either queue. A batch has one key.
func (f *DeltaFIFO[K, T]) PopBatch(process func(ds []Delta[K, T], isInInitialList bool) error) error {
	return f.Pop(func(_ K, ds []Delta[K, T], isInInitialList bool) error { return process(ds, isInInitialList) })
}

// maxKeptDeltas bounds the list that a reused entry keeps after a key that changed many times.
const maxKeptDeltas = 8

// processedLocked ends a pop, when its process function has returned or panicked. The entry is kept for reuse, so that
// steady work allocates nothing. When the queue is empty, what a burst has left is released.
func (f *DeltaFIFO[K, T]) processedLocked(p *entry[K, T]) {
	f.initial.processed(1)
	clear(p.deltas) // popped objects are not kept
	deltas := p.deltas[:0]
	if cap(deltas) > maxKeptDeltas {
		deltas = nil
	}
	*p = entry[K, T]{deltas: deltas}
	f.free = append(f.free, p)
	if f.oldest != nil {
		return
	}
	if shrink.IsDue(len(f.free), f.peak) { // the queue is empty, so free holds every entry
		f.items = map[K]*entry[K, T]{}
		f.free = nil
	}
	f.peak = 0
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
