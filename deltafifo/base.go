package deltafifo

import "sync"

// base is what both queues have in common: the events of one object, closing, and the initial sync.
type base[K comparable, T any] struct {
	opts Options[K, T]
	// pushLocked queues an event. If its transform failed (not ok), it only notes that the initial sync has begun.
	pushLocked func(d Delta[K, T], ok bool)
	mu         sync.Mutex // protects what changes after init; methods named …Locked are called with it
	changed    sync.Cond  // wakes consumers that wait for deltas and producers that wait for room
	closed     bool
	syncBegun  bool // the first list came, or an event before any list; then it stays true
	// remaining counts the entries not yet processed, up to the end of the first list.
	// Invariant: remaining is 0 unless syncBegun; synced is closed exactly if syncBegun and remaining is 0.
	remaining int
	synced    chan struct{}
}

func (b *base[K, T]) init(opts Options[K, T], pushLocked func(Delta[K, T], bool)) {
	if opts.KeyFunc == nil {
		panic("deltafifo: Options.KeyFunc is required")
	}
	b.opts, b.pushLocked = opts, pushLocked
	b.changed.L = &b.mu
	b.synced = make(chan struct{})
}

// Add queues an Added delta. When the transform fails, nothing is queued. The error wraps ErrNoKey.
func (b *base[K, T]) Add(obj T) error { return b.put(Added, obj) }

// Update queues an Updated delta, like Add.
func (b *base[K, T]) Update(obj T) error { return b.put(Updated, obj) }

// Delete queues a Deleted delta with the object as it was when it went, Missing if the transform fails. A DeltaFIFO
// drops the deletion of a key that is neither queued nor known. The error wraps ErrNoKey.
func (b *base[K, T]) Delete(obj T) error { return b.put(Deleted, obj) }

func (b *base[K, T]) put(t DeltaType, obj T) error {
	d := Delta[K, T]{Type: t, Obj: obj}
	ok, err := b.opts.complete(&d)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.pushLocked(d, ok)
	}
	return err
}

// DeleteKey queues a tombstone for a deletion whose object could not be read. A DeltaFIFO adds the last queued delta's
// object, if that has one. With nothing queued it adds the known object, if any, else it drops the key. It returns nil.
func (b *base[K, T]) DeleteKey(key K) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pushLocked(Delta[K, T]{Type: Deleted, Key: key, Missing: true, FinalStateUnknown: true}, true)
	return nil
}

// Close wakes all calls that wait. What is queued can still be popped; then the pops return ErrClosed.
func (b *base[K, T]) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Broadcast()
}

// HasSynced tells whether all that the first Replace queued was processed, or an event of a single object came before
// any Replace. It never blocks, and process functions may call it.
func (b *base[K, T]) HasSynced() bool {
	select {
	case <-b.synced:
		return true
	default:
		return false
	}
}

// Synced returns a channel that is closed when HasSynced turns true.
func (b *base[K, T]) Synced() <-chan struct{} { return b.synced }

// beginSyncLocked begins the initial sync, which ends when the queued entries are processed. Later calls do nothing.
// For an event before any list, queued is 0: there is no list to wait for, so HasSynced is true at once.
func (b *base[K, T]) beginSyncLocked(queued int) {
	if b.syncBegun {
		return
	}
	b.syncBegun, b.remaining = true, queued
	if queued == 0 {
		close(b.synced)
	}
}

// entriesDoneLocked notes that n more entries were processed. remaining must not be 0, nor less than n.
func (b *base[K, T]) entriesDoneLocked(n int) {
	b.remaining -= n
	if b.remaining == 0 {
		close(b.synced)
	}
}
