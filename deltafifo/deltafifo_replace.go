package deltafifo

// Replace queues a list, in one step: a Replaced delta for each of its objects, in order, and then a tombstone for each
// queued or known key that it lacks. A watch that broke off misses deletions, and the list is the only sign of them.
//
// keep names objects that the server has but that could not be read. They count as listed, and nothing is queued for
// them. The same holds for an object whose transform fails. objs and keep are not retained. The error joins one
// ErrNoKey for each object without a key; the others are queued.
func (f *DeltaFIFO[K, T]) Replace(objs []T, keep []K, _ string) error {
	items, err := f.opts.list(objs, keep)
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
			d, _ := f.tombstoneLocked(p.key)
			f.appendLocked(d)
		}
	}
	for _, key := range f.knownKeysLocked() {
		if _, ok := listed[key]; !ok && f.items[key] == nil {
			d, _ := f.tombstoneLocked(key)
			f.appendLocked(d)
		}
	}
}

// Resync queues a Sync delta for each known object that has nothing queued. Where something is queued, the known
// version is about to be outdated. The error is always nil.
func (f *DeltaFIFO[K, T]) Resync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range f.knownKeysLocked() {
		if obj, ok := f.opts.Known.GetByKey(key); ok && f.items[key] == nil {
			f.appendLocked(Delta[K, T]{Type: Sync, Key: key, Obj: obj})
		}
	}
	return nil
}

func (f *DeltaFIFO[K, T]) knownKeysLocked() []K {
	if f.opts.Known == nil {
		return nil
	}
	return f.opts.Known.ListKeys()
}
