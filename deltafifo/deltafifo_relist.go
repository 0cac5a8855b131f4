package deltafifo

// Replace queues a Replaced delta for each object of a list, in its order, and then a Deleted of unknown final state
// for each queued or known key that is neither in the list nor in keep: with the newest version queued, else the known
// one, else Missing. All of it is one step for consumers and other producers.
//
// keep names objects that the server has and that could not be read; an object whose transform fails is treated alike:
// it counts as present, nothing is queued for it. objs and keep are not retained. The resourceVersion is not used: see
// Bookmark.
//
// The error joins a *KeyError for each object without a key; the others are queued all the same.
func (f *DeltaFIFO[K, T]) Replace(objs []T, keep []K, _ string) error {
	items, err := f.in.list(objs, keep)
	present := make(map[K]struct{}, len(items))
	for i := range items {
		present[items[i].Key] = struct{}{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range items {
		if !items[i].Keep {
			f.appendLocked(Delta[K, T]{Type: Replaced, Key: items[i].Key, Obj: items[i].Obj})
		}
	}
	f.buryQueuedLocked(present)
	f.buryKnownLocked(present)
	f.synced.firstListLocked(f.queue.len())
	return err
}

// buryQueuedLocked appends a tombstone for each queued key that is not present. One that ends with a deletion folds it.
func (f *DeltaFIFO[K, T]) buryQueuedLocked(present map[K]struct{}) {
	for i := range f.queue.len() {
		p := f.queue.at(i)
		if _, ok := present[p.key]; !ok {
			obj, missing := p.newest()
			f.appendLocked(tombstone(p.key, obj, missing))
		}
	}
}

// buryKnownLocked queues a tombstone for each known key that is neither present nor queued.
func (f *DeltaFIFO[K, T]) buryKnownLocked(present map[K]struct{}) {
	if f.known == nil {
		return
	}
	for _, key := range f.known.ListKeys() {
		if _, ok := present[key]; ok || f.items[key] != nil {
			continue
		}
		obj, ok := f.known.GetByKey(key)
		f.appendLocked(tombstone(key, obj, !ok))
	}
}

// Resync queues a Sync delta for each known object that has nothing queued: where something is, the known version is
// about to be outdated. The error is always nil.
func (f *DeltaFIFO[K, T]) Resync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		return nil
	}
	for _, key := range f.known.ListKeys() {
		if f.items[key] != nil {
			continue
		}
		if obj, ok := f.known.GetByKey(key); ok {
			f.appendLocked(Delta[K, T]{Type: Sync, Key: key, Obj: obj})
		}
	}
	return nil
}
