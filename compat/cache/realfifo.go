package cache

import (
	"sync"
	"sync/atomic"
)

// maxBatch is how many deltas PopBatch takes at most.
const maxBatch = 1000

// RealFIFO is a Queue that hands out all events in their order of arrival.
//
//	AtomicEvents   a list is one ReplacedAll, a resync one SyncAll; process functions run under no lock. It is glasswatch's
//	               deltafifo.InOrder.
//	otherwise      a list is a Deleted for each object gone and a Replaced for each of its own, a resync a Sync for each
//	               known object; the queue asks the known objects, so process functions run under its lock.
//
// All methods may be called from any goroutine; pops wait for each other.
type RealFIFO struct {
	front front
	queue realQueue
	// bookmarks: Bookmark queues a delta.
	bookmarks bool
	closed    atomic.Bool

	popping sync.Mutex // held by a pop: the layer's queue has one consumer
}

// realQueue is one of the two implementations.
type realQueue interface {
	add(t DeltaType, q queued)
	replace(list []any, resourceVersion string) error
	resync()
	bookmark(resourceVersion string)
	// pop waits for a delta, takes up to limit, and calls process. The error is ErrFIFOClosed or process's.
	pop(limit int, process func(ds []Delta, isInInitialList bool) error) error
	close()
	synced() <-chan struct{}
}

var (
	_ QueueWithBatch         = (*RealFIFO)(nil)
	_ TransformingStore      = (*RealFIFO)(nil)
	_ ReflectorBookmarkStore = (*RealFIFO)(nil)
	_ DoneChecker            = (*RealFIFO)(nil)
)

// NewRealFIFO is NewRealFIFOWithOptions with no other options than these.
//
// Deprecated: Use NewRealFIFOWithOptions.
func NewRealFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter, transformer TransformFunc) *RealFIFO {
	return NewRealFIFOWithOptions(RealFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects, Transformer: transformer})
}

// NewRealFIFOWithOptions returns an empty queue. It panics if AtomicEvents and KnownObjects are both set or both not, or
// if UnlockWhileProcessing or EmitDeltaTypeBookmark is set without AtomicEvents. With AtomicEvents, UnlockWhileProcessing
// makes no difference: process functions never run under a lock.
func NewRealFIFOWithOptions(opts RealFIFOOptions) *RealFIFO { return newRealFIFO(opts, false) }

// newRealFIFO is NewRealFIFOWithOptions. keeps is what it is in atomicQueue.
func newRealFIFO(opts RealFIFOOptions, keeps bool) *RealFIFO {
	switch {
	case opts.AtomicEvents == (opts.KnownObjects != nil):
		panic("cache: RealFIFOOptions wants either AtomicEvents or KnownObjects")
	case !opts.AtomicEvents && opts.UnlockWhileProcessing:
		panic("cache: RealFIFOOptions.UnlockWhileProcessing wants AtomicEvents")
	case !opts.AtomicEvents && opts.EmitDeltaTypeBookmark:
		panic("cache: RealFIFOOptions.EmitDeltaTypeBookmark wants AtomicEvents")
	}
	name := opts.Identifier.Name()
	if name == "" {
		name = opts.Name
	}
	if name == "" {
		name = "RealFIFO"
	}
	f := &RealFIFO{
		front:     newFront(name, opts.Logger, opts.KeyFunction, opts.Transformer),
		bookmarks: opts.EmitDeltaTypeBookmark,
	}
	metrics := newQueueMetrics(opts.Identifier, opts.MetricsProvider)
	if opts.AtomicEvents {
		f.queue = newAtomicQueue(&f.front, metrics, keeps)
	} else {
		f.queue = newListedQueue(&f.front, opts.KnownObjects, metrics)
	}
	return f
}

// Add queues an Added delta. The error is a KeyError or the transform's; nothing is queued then.
func (f *RealFIFO) Add(obj any) error { return f.put(Added, obj) }

// Update queues an Updated delta. The error is a KeyError or the transform's; nothing is queued then.
func (f *RealFIFO) Update(obj any) error { return f.put(Updated, obj) }

func (f *RealFIFO) put(t DeltaType, obj any) error {
	q, err := f.front.take(obj)
	if err != nil {
		return err
	}
	f.queue.add(t, q)
	return nil
}

// Delete queues a Deleted delta with obj, which may be a tombstone. If the transform fails on it, the delta carries a
// tombstone without an object. The error is a KeyError.
func (f *RealFIFO) Delete(obj any) error {
	q, err := f.front.named(obj)
	if err != nil {
		return err
	}
	if q.obj, err = f.front.transformed(obj); err != nil {
		f.front.report(err, "The transform failed, the object is deleted without its final state", q.key)
		q.obj = DeletedFinalStateUnknown{Key: q.key}
	}
	f.queue.add(Deleted, q)
	return nil
}

// Replace queues a list.
//
// With AtomicEvents that is one ReplacedAll delta, whose object owns list. If the transform fails on an object, Replace
// returns that error and queues nothing. For a ReplacedAll cannot express an object that exists but is unreadable.
//
// Without, Replace queues a Deleted delta with a tombstone for each queued or known key that list lacks. Then it queues
// a Replaced delta for each object. An object that the transform fails on is reported and counts as present. The error
// is a KeyError for each object without a key; the others are queued.
func (f *RealFIFO) Replace(list []any, resourceVersion string) error {
	return f.queue.replace(list, resourceVersion)
}

// Resync queues one SyncAll, or, without AtomicEvents, a Sync for each known object that has nothing queued. The error is
// always nil.
func (f *RealFIFO) Resync() error {
	f.queue.resync()
	return nil
}

// Bookmark queues a Bookmark delta if the option EmitDeltaTypeBookmark is set. The error is always nil.
func (f *RealFIFO) Bookmark(resourceVersion string) error {
	if f.bookmarks {
		f.queue.bookmark(resourceVersion)
	}
	return nil
}

// Pop takes the oldest delta and passes it to process, as Deltas of length one. It returns them and the result of
// process. It blocks until there is a delta; of a closed and empty queue it returns ErrFIFOClosed.
func (f *RealFIFO) Pop(process PopProcessFunc) (any, error) {
	f.popping.Lock()
	defer f.popping.Unlock()
	var popped any
	err := f.queue.pop(1, func(ds []Delta, isInInitialList bool) error {
		popped = Deltas(ds)
		return process(popped, isInInitialList)
	})
	return popped, err
}

// PopBatch takes a batch of deltas: at most 1,000, in order, no key twice. A batch ends with the initial list. A single
// delta goes to processSingle, as Deltas, and more go to processBatch. A ReplacedAll, SyncAll or Bookmark comes alone.
// With AtomicEvents a batch can be shorter than it might be. It blocks and ends as Pop does.
func (f *RealFIFO) PopBatch(processBatch ProcessBatchFunc, processSingle PopProcessFunc) error {
	f.popping.Lock()
	defer f.popping.Unlock()
	return f.queue.pop(maxBatch, func(ds []Delta, isInInitialList bool) error {
		if len(ds) == 1 {
			return processSingle(Deltas(ds), isInInitialList)
		}
		return processBatch(ds, isInInitialList)
	})
}

// Close ends the pops once the queue is empty. Producers may still add.
func (f *RealFIFO) Close() {
	f.closed.Store(true)
	f.queue.close()
}

// IsClosed tells whether Close was called.
func (f *RealFIFO) IsClosed() bool { return f.closed.Load() }

// Transformer returns the option of this name.
func (f *RealFIFO) Transformer() TransformFunc { return f.front.transform }

// HasSynced tells whether all of the first list was processed, or an object came before any list. It never blocks.
func (f *RealFIFO) HasSynced() bool {
	select {
	case <-f.queue.synced():
		return true
	default:
		return false
	}
}

// HasSyncedChecker is done when HasSynced is true.
func (f *RealFIFO) HasSyncedChecker() DoneChecker { return f }

// Name returns the identifier's name, or the option Name, or "RealFIFO".
func (f *RealFIFO) Name() string { return f.front.name }

// Done is closed when HasSynced turns true.
func (f *RealFIFO) Done() <-chan struct{} { return f.queue.synced() }
