package deltafifo

import "time"

// Pop takes the oldest key and gives process all its deltas, oldest first. It blocks until there is a key. Once the queue
// is closed and empty it returns ErrClosed. Whatever process returns, the key is gone from the queue, and Pop returns
// the same.
//
// Pop holds the queue's lock while process runs. So process can bring the known objects in line before any other call
// looks at them. process must not call the queue, except HasSynced and Synced, and should be short. The deltas are its
// own only during the call. If it panics, the queue goes on working and the panic reaches Pop's caller.
//
// isInInitialList: HasSynced was false when the key was taken.
func (f *DeltaFIFO[K, T]) Pop(process func(key K, ds []Delta[K, T], isInInitialList bool) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.takeLocked()
	if err != nil {
		return err
	}
	// Deferred, because process may panic.
	defer f.processedLocked(p, f.metrics.start())
	return process(p.key, p.deltas, !f.synced.isDone())
}

// PopBatch is Pop with the signature of InOrder's PopBatch, for a consumer that works with either queue. The batch is
// the deltas of one key.
func (f *DeltaFIFO[K, T]) PopBatch(process func(ds []Delta[K, T], isInInitialList bool) error) error {
	return f.Pop(func(_ K, ds []Delta[K, T], isInInitialList bool) error { return process(ds, isInInitialList) })
}

// takeLocked waits for a key and takes the oldest out of the queue. After a nil error, processedLocked must be called.
func (f *DeltaFIFO[K, T]) takeLocked() (*pending[K, T], error) {
	for f.oldest == nil {
		if f.closed {
			return nil, ErrClosed
		}
		f.nonEmpty.Wait()
	}
	p := f.oldest
	f.oldest = p.next
	delete(f.items, p.key)
	f.metrics.queued(len(f.items))
	return p, nil
}

// processedLocked ends a pop, when its process function has returned or panicked.
func (f *DeltaFIFO[K, T]) processedLocked(p *pending[K, T], start time.Time) {
	f.metrics.processed(start)
	f.recycleLocked(p)
	f.synced.processedLocked(1)
}

// maxKeptDeltas bounds the list that a recycled entry keeps. A key that changed a thousand times while nobody popped must
// not leave a thousand slots behind.
const maxKeptDeltas = 8

// recycleLocked puts a processed entry among the free ones, so that steady work allocates nothing. When the queue is
// empty, it gives back what a burst has left.
func (f *DeltaFIFO[K, T]) recycleLocked(p *pending[K, T]) {
	clear(p.deltas) // popped objects are not kept
	deltas := p.deltas[:0]
	if cap(deltas) > maxKeptDeltas {
		deltas = nil
	}
	*p = pending[K, T]{deltas: deltas, next: f.free}
	f.free = p
	if f.oldest != nil {
		return
	}
	f.newest = nil
	if wasteful(f.made, f.peak) {
		// A Go map does not shrink, so it is made anew.
		f.items, f.free, f.made = map[K]*pending[K, T]{}, nil, 0
	}
	f.peak = 0
}
