package deltafifo

// pending is a key's place in the queue, and what happened to its object since it was last popped.
type pending[K comparable, T any] struct {
	key    K
	deltas []Delta[K, T]
	next   *pending[K, T] // the key behind this one, or the next free entry
}

// appendLocked adds a delta to its key's list. A key that is not in the queue joins it at the end.
func (f *DeltaFIFO[K, T]) appendLocked(d Delta[K, T]) {
	p := f.items[d.Key]
	if p == nil {
		p = f.enqueueLocked(d.Key)
	}
	if n := len(p.deltas); n > 0 && d.Type == Deleted && p.deltas[n-1].Type == Deleted {
		p.deltas[n-1] = foldDeletions(p.deltas[n-1], d)
		return
	}
	p.deltas = append(p.deltas, d)
}

// enqueueLocked puts a key without deltas at the end of the queue, and wakes one waiting consumer.
func (f *DeltaFIFO[K, T]) enqueueLocked(key K) *pending[K, T] {
	p := f.free
	if p == nil {
		p = &pending[K, T]{}
		f.made++
	} else {
		f.free = p.next
	}
	p.key, p.next = key, nil
	if f.oldest == nil {
		f.oldest = p
	} else {
		f.newest.next = p
	}
	f.newest = p
	f.items[key] = p
	f.peak = max(f.peak, len(f.items))
	f.metrics.queued(len(f.items))
	f.nonEmpty.Signal()
	return p
}

// foldDeletions returns the one of two deletions in a row that knows more of the object's end. Of two that were seen on
// the watch the older one stays, of two tombstones the newer one.
func foldDeletions[K comparable, T any](older, newer Delta[K, T]) Delta[K, T] {
	switch {
	case older.Missing:
		return newer
	case newer.Missing, !older.FinalStateUnknown:
		return older
	}
	return newer
}

// tombstone is a deletion that nobody saw: obj may be older than the object's last state. missing: there is no obj.
func tombstone[K comparable, T any](key K, obj T, missing bool) Delta[K, T] {
	return Delta[K, T]{Type: Deleted, Key: key, Obj: obj, Missing: missing, FinalStateUnknown: true}
}

// lastLocked returns the newest version of an object, queued or known. missing: the object exists, but no version is at
// hand.
func (f *DeltaFIFO[K, T]) lastLocked(key K) (obj T, missing, exists bool) {
	if p := f.items[key]; p != nil {
		last := &p.deltas[len(p.deltas)-1]
		return last.Obj, last.Missing, true
	}
	if f.known != nil {
		obj, exists = f.known.GetByKey(key)
	}
	return obj, !exists, exists
}
