package deltafifo

import "time"

// maxKeptDeltas bounds the list that an entry takes along into reuse: a key that changed a thousand times while nobody
// popped must not leave a thousand slots behind.
const maxKeptDeltas = 8

// appendLocked adds a delta to its key's list, and the key to the queue if it is not there.
func (f *DeltaFIFO[K, T]) appendLocked(d Delta[K, T]) {
	p := f.items[d.Key]
	if p == nil {
		p = f.newPendingLocked(d.Key)
		f.items[d.Key] = p
		f.queue.push(p)
		f.roundPeak = max(f.roundPeak, len(f.items))
		f.metrics.queued(f.queue.len())
		// Returns at once when nobody waits. One key more is work for one waiting consumer more.
		f.nonEmpty.Signal()
	}
	if n := len(p.deltas); n > 0 && d.Type == Deleted && p.deltas[n-1].Type == Deleted {
		p.deltas[n-1] = foldDeletions(p.deltas[n-1], d)
		return
	}
	p.deltas = append(p.deltas, d)
}

// foldDeletions makes one of two deletions in a row: the one that knows more of the object's end. Of two that were seen
// on the watch the older one stays, of two that were inferred the newer one.
func foldDeletions[K comparable, T any](older, newer Delta[K, T]) Delta[K, T] {
	switch {
	case older.Missing:
		return newer
	case newer.Missing, !older.FinalStateUnknown:
		return older
	}
	return newer
}

func tombstone[K comparable, T any](key K, obj T, missing bool) Delta[K, T] {
	return Delta[K, T]{Type: Deleted, Key: key, Obj: obj, Missing: missing, FinalStateUnknown: true}
}

// lastLocked returns the newest version of an object, queued or known. missing: the object exists, no version is at hand.
func (f *DeltaFIFO[K, T]) lastLocked(key K) (obj T, missing, exists bool) {
	if p := f.items[key]; p != nil {
		obj, missing = p.newest()
		return obj, missing, true
	}
	if f.known != nil {
		obj, exists = f.known.GetByKey(key)
	}
	return obj, !exists, exists
}

// newest returns the object of the last delta, and whether that delta lacks one.
func (p *pending[K, T]) newest() (obj T, missing bool) {
	d := &p.deltas[len(p.deltas)-1]
	return d.Obj, d.Missing
}

func (f *DeltaFIFO[K, T]) newPendingLocked(key K) *pending[K, T] {
	n := len(f.free)
	if n == 0 {
		return &pending[K, T]{key: key}
	}
	p := f.free[n-1]
	f.free[n-1] = nil
	f.free = f.free[:n-1]
	p.key = key
	return p
}

// processedLocked takes back an entry whose process function has returned or panicked.
func (f *DeltaFIFO[K, T]) processedLocked(p *pending[K, T], start time.Time) {
	f.metrics.processed(start)
	f.recycleLocked(p)
	if len(f.items) == 0 {
		f.peak = max(f.peak, f.roundPeak)
		if wasteful(f.peak, f.roundPeak) {
			f.items, f.free, f.peak = map[K]*pending[K, T]{}, nil, 0
		}
		f.roundPeak = 0
	}
	f.synced.processedLocked(1)
}

func (f *DeltaFIFO[K, T]) recycleLocked(p *pending[K, T]) {
	if cap(p.deltas) > maxKeptDeltas {
		p.deltas = nil
	}
	clear(p.deltas)
	p.deltas = p.deltas[:0]
	var none K
	p.key = none
	f.free = append(f.free, p)
}
