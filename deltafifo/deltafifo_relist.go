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
	hashes := f.items.hashAll(items)
	f.mu.Lock()
	defer f.mu.Unlock()
	present := f.queueListLocked(items, hashes)
	f.buryQueuedLocked(present)
	f.buryKnownLocked(present)
	f.synced.firstListLocked(f.queue.len())
	return err
}

// presence is which keys a list named: those in the queue bear its number, the others, which nobody could read, are kept.
type presence[K comparable] struct {
	list uint64
	kept map[K]struct{}
}

// queueListLocked appends the objects of a list, whose keys have the given hashes.
func (f *DeltaFIFO[K, T]) queueListLocked(items []Item[K, T], hashes []uint64) presence[K] {
	f.lists++
	present := presence[K]{list: f.lists}
	unread := 0
	for i := range items {
		if items[i].Keep {
			unread++
		}
	}
	// Not for what is queued besides: most of it is in the list too.
	f.items.reserve(len(items) - unread)
	for i := range items {
		if !items[i].Keep {
			key := items[i].Key
			f.appendLocked(hashes[i], Delta[K, T]{Type: Replaced, Key: key, Obj: items[i].Obj}).list = f.lists
		}
	}
	if unread == 0 {
		return present
	}
	present.kept = make(map[K]struct{}, unread)
	for i := range items {
		if !items[i].Keep {
			continue
		}
		if p := f.items.find(items[i].Key, hashes[i]); p != nil {
			p.list = f.lists
		} else {
			present.kept[items[i].Key] = struct{}{}
		}
	}
	return present
}

// buryQueuedLocked appends a tombstone for each queued key that is not present. One that ends with a deletion folds it.
func (f *DeltaFIFO[K, T]) buryQueuedLocked(present presence[K]) {
	for i := range f.queue.len() {
		if p := f.queue.at(i); p.list != present.list {
			obj, missing := p.newest()
			f.appendLocked(p.hash, tombstone(p.key, obj, missing))
		}
	}
}

// buryKnownLocked queues a tombstone for each known key that is neither queued nor kept.
func (f *DeltaFIFO[K, T]) buryKnownLocked(present presence[K]) {
	if f.known == nil {
		return
	}
	for _, key := range f.known.ListKeys() {
		hash := f.items.hash(key)
		if _, ok := present.kept[key]; ok || f.items.find(key, hash) != nil {
			continue
		}
		obj, ok := f.known.GetByKey(key)
		f.appendLocked(hash, tombstone(key, obj, !ok))
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
		hash := f.items.hash(key)
		if f.items.find(key, hash) != nil {
			continue
		}
		if obj, ok := f.known.GetByKey(key); ok {
			f.appendLocked(hash, Delta[K, T]{Type: Sync, Key: key, Obj: obj})
		}
	}
	return nil
}
