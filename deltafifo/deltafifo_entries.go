package deltafifo

import "time"

// maxKeptDeltas bounds the list that an entry takes along into reuse: a key that changed a thousand times while nobody
// popped must not leave a thousand slots behind.
const maxKeptDeltas = 8

// appendLocked adds a delta to its key's list, and the key, which has the given hash, to the queue if it is not there. It
// returns the key's entry.
func (f *DeltaFIFO[K, T]) appendLocked(hash uint64, d Delta[K, T]) *pending[K, T] {
	p := f.items.find(d.Key, hash)
	if p == nil {
		p = f.items.add(d.Key, hash)
		f.queue.push(p)
		f.roundPeak = max(f.roundPeak, f.items.len)
		f.metrics.queued(f.queue.len())
		// Returns at once when nobody waits. One key more is work for one waiting consumer more.
		f.nonEmpty.Signal()
	}
	if n := len(p.deltas); n > 0 && d.Type == Deleted && p.deltas[n-1].Type == Deleted {
		p.deltas[n-1] = foldDeletions(p.deltas[n-1], d)
		return p
	}
	p.deltas = append(p.deltas, d)
	return p
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
func (f *DeltaFIFO[K, T]) lastLocked(key K, hash uint64) (obj T, missing, exists bool) {
	if p := f.items.find(key, hash); p != nil {
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

// processedLocked takes back an entry whose process function has returned or panicked.
func (f *DeltaFIFO[K, T]) processedLocked(p *pending[K, T], start time.Time) {
	f.metrics.processed(start)
	f.items.recycle(p)
	if f.items.len == 0 {
		if wasteful(len(f.items.buckets), f.roundPeak) {
			f.items.forget()
		}
		f.roundPeak = 0
	}
	f.synced.processedLocked(1)
}
