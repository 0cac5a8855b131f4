package deltafifo

import (
	"time"

	"glasswatch/internal/shrink"
)

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
	if f.opts.Metrics.Queued != nil {
		f.opts.Metrics.Queued(len(f.items) - 1) // first of all, because it may panic
	}
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
// steady work allocates nothing. When the queue is empty, what a burst has left is given back.
func (f *DeltaFIFO[K, T]) processedLocked(p *entry[K, T]) {
	f.initial.processed(1)
	clear(p.deltas) // popped objects are not kept
	deltas := p.deltas[:0]
	if cap(deltas) > maxKeptDeltas {
		deltas = nil
	}
	*p = entry[K, T]{deltas: deltas, next: f.free}
	f.free = p
	if f.oldest != nil {
		return
	}
	f.newest = nil
	if shrink.IsDue(f.made, f.peak) {
		f.items = map[K]*entry[K, T]{}
		f.free = nil
		f.made = 0
	}
	f.peak = 0
}
