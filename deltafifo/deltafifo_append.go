package deltafifo

// entry is a key's place in the queue, and what happened to its object since it was last popped.
type entry[K comparable, T any] struct {
	key    K
	deltas []Delta[K, T]
	next   *entry[K, T] // the key behind this one, or the next free entry
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
	if len(p.deltas) == 1 && f.opts.Metrics.Queued != nil {
		f.opts.Metrics.Queued(len(f.items)) // last of all, because it may panic
	}
}

// newEntryLocked puts a key without deltas at the end of the queue, and wakes one waiting consumer.
func (f *DeltaFIFO[K, T]) newEntryLocked(key K) *entry[K, T] {
	if f.free == nil {
		f.free = &entry[K, T]{}
		f.made++
	}
	p := f.free
	f.free = p.next
	p.next = nil
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
	if newer.Missing != older.Missing {
		if older.Missing {
			return newer
		}
		return older
	}
	if older.FinalStateUnknown {
		return newer
	}
	return older
}

// tombstoneLocked makes a tombstone: a deletion that nobody saw. Its object is that of the key's last queued delta; if
// that one is Missing, so is the tombstone. If nothing is queued, it is the known object. found: the key has queued
// deltas, of any type, or is known.
func (f *DeltaFIFO[K, T]) tombstoneLocked(key K) (d Delta[K, T], found bool) {
	d = Delta[K, T]{Type: Deleted, Key: key, Missing: true, FinalStateUnknown: true}
	if p := f.items[key]; p != nil {
		last := &p.deltas[len(p.deltas)-1]
		d.Obj, d.Missing, found = last.Obj, last.Missing, true
	} else if f.opts.Known != nil {
		d.Obj, found = f.opts.Known.GetByKey(key)
		d.Missing = !found
	}
	return d, found
}
