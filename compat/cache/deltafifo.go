package cache

import (
	"sync/atomic"

	"glasswatch/deltafifo"
)

// DeltaFIFO is a Queue that gathers the changes of each object. Pop hands out Deltas: all changes of one object since
// its last Pop. It is glasswatch's deltafifo.DeltaFIFO. All methods may be called from any goroutine.
type DeltaFIFO struct {
	front    front
	queue    *deltafifo.DeltaFIFO[string, queued]
	replaced DeltaType // the type of the deltas of a list
	closed   atomic.Bool
}

var (
	_ Queue             = (*DeltaFIFO)(nil)
	_ TransformingStore = (*DeltaFIFO)(nil)
	_ DoneChecker       = (*DeltaFIFO)(nil)
)

// NewDeltaFIFO is NewDeltaFIFOWithOptions with no other option than these.
//
// Deprecated: Use NewDeltaFIFOWithOptions, and set EmitDeltaTypeReplaced to tell lists from resyncs.
func NewDeltaFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter) *DeltaFIFO {
	return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects})
}

// NewDeltaFIFOWithOptions returns an empty queue.
func NewDeltaFIFOWithOptions(opts DeltaFIFOOptions) *DeltaFIFO {
	name := opts.Name
	if name == "" {
		name = "DeltaFIFO"
	}
	f := &DeltaFIFO{front: newFront(name, opts.Logger, opts.KeyFunction, opts.Transformer), replaced: Sync}
	if opts.EmitDeltaTypeReplaced {
		f.replaced = Replaced
	}
	native := deltafifo.Options[string, queued]{KeyFunc: queued.keyOf}
	if opts.KnownObjects != nil {
		native.Known = known{opts.KnownObjects, &f.front}
	}
	f.queue = deltafifo.NewDeltaFIFO(native)
	return f
}

// Add queues an Added delta. The error is a KeyError or the transform's; nothing is queued then.
func (f *DeltaFIFO) Add(obj any) error {
	q, err := f.front.take(obj)
	if err != nil {
		return err
	}
	return f.queue.Add(q)
}

// Update queues an Updated delta. The error is a KeyError or the transform's; nothing is queued then.
func (f *DeltaFIFO) Update(obj any) error {
	q, err := f.front.take(obj)
	if err != nil {
		return err
	}
	return f.queue.Update(q)
}

// Delete queues a Deleted delta with obj, which may be a tombstone. If the transform fails on it, the delta carries a
// tombstone with the last version queued or known. A key that is neither gets no delta. The error is a KeyError.
func (f *DeltaFIFO) Delete(obj any) error {
	q, err := f.front.named(obj)
	if err != nil {
		return err
	}
	if d, ok := obj.(DeletedFinalStateUnknown); ok {
		return f.queue.DeleteUnknown(d.Key, queued{key: d.Key, obj: d.Obj})
	}
	if q.obj, err = f.front.transformed(obj); err != nil {
		f.front.report(err, "The transform failed, the object is deleted without its final state", q.key)
		return f.queue.DeleteKey(q.key)
	}
	return f.queue.Delete(q)
}

// Replace queues each object of list, in its order. It queues a Deleted delta with a tombstone for each queued or known
// key that list lacks. An object that the transform fails on is reported and counts as present. The error is a KeyError
// for each object without a key; the others are queued.
func (f *DeltaFIFO) Replace(list []any, resourceVersion string) error {
	objs, keep, err := f.front.takeList(list)
	if replaceErr := f.queue.Replace(objs, keep, resourceVersion); replaceErr != nil {
		return replaceErr
	}
	return err
}

// Resync queues a Sync delta for each known object that has nothing queued. The error is always nil.
func (f *DeltaFIFO) Resync() error { return f.queue.Resync() }

// Pop takes the oldest key and passes all its Deltas to process. It returns the Deltas, which the caller owns, and the
// result of process. It blocks until there is a key; of a closed and empty queue it returns ErrFIFOClosed. process runs
// under the queue's lock and must not call the queue.
func (f *DeltaFIFO) Pop(process PopProcessFunc) (any, error) {
	var popped any
	err := f.queue.Pop(func(key string, ds []deltafifo.Delta[string, queued], isInInitialList bool) error {
		deltas := make(Deltas, len(ds))
		for i := range ds {
			deltas[i] = f.delta(&ds[i])
		}
		popped = deltas
		return process(deltas, isInInitialList)
	})
	return popped, closedErr(err)
}

func (f *DeltaFIFO) delta(d *deltafifo.Delta[string, queued]) Delta {
	if d.Type == deltafifo.Replaced {
		return Delta{Type: f.replaced, Object: d.Obj.obj}
	}
	return nativeDelta(d)
}

// nativeDelta turns a delta of one object into client-go's.
func nativeDelta(d *deltafifo.Delta[string, queued]) Delta {
	switch d.Type {
	case deltafifo.Added:
		return Delta{Type: Added, Object: d.Obj.obj}
	case deltafifo.Updated:
		return Delta{Type: Updated, Object: d.Obj.obj}
	case deltafifo.Deleted:
		if d.FinalStateUnknown || d.Missing {
			return Delta{Type: Deleted, Object: DeletedFinalStateUnknown{Key: d.Key, Obj: d.Obj.obj}}
		}
		return Delta{Type: Deleted, Object: d.Obj.obj}
	default:
		return Delta{Type: Sync, Object: d.Obj.obj}
	}
}

// Close ends Pop once the queue is empty. Producers may still add.
func (f *DeltaFIFO) Close() {
	f.closed.Store(true)
	f.queue.Close()
}

// IsClosed tells whether Close was called.
func (f *DeltaFIFO) IsClosed() bool { return f.closed.Load() }

// KeyOf names an object, a tombstone, or the newest object of Deltas.
func (f *DeltaFIFO) KeyOf(obj any) (string, error) { return f.front.keyOf(obj) }

// Transformer returns the option of this name.
func (f *DeltaFIFO) Transformer() TransformFunc { return f.front.transform }

// HasSynced tells whether all of the first list was processed, or another event came before any list. It never blocks.
func (f *DeltaFIFO) HasSynced() bool { return f.queue.HasSynced() }

// HasSyncedChecker is done when HasSynced is true.
func (f *DeltaFIFO) HasSyncedChecker() DoneChecker { return f }

// Name returns the option of this name, or "DeltaFIFO".
func (f *DeltaFIFO) Name() string { return f.front.name }

// Done is closed when HasSynced turns true.
func (f *DeltaFIFO) Done() <-chan struct{} { return f.queue.Synced() }
