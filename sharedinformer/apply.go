package sharedinformer

import (
	"slices"

	"glasswatch/deltafifo"
	"glasswatch/indexer"
	"glasswatch/internal/keys"
	"glasswatch/internal/rv"
	"glasswatch/internal/shrink"
	"glasswatch/listwatch"
)

type notificationKind uint8

const (
	added notificationKind = iota + 1
	updated
	deleted
)

// cause says why handlers are told, and so which of them are: see resyncSchedule.
type cause uint8

const (
	changed  cause = iota // the object was added, updated or deleted
	repeated              // a list or an event of the watch shows the object as it was
	resynced              // a resync gives the object again
)

// notification is one change of the store on its way to a handler: a call that is still to be made.
type notification[T object] struct {
	kind    notificationKind
	cause   cause
	initial bool // it counts towards the handler's sync; OnAdd passes it on as isInInitialList
	// unknownState is a deletion's FinalStateUnknown.
	unknownState bool
	old, obj     T // deleted: old is the version that handlers know, obj the one that the deletion tells of
}

// call calls the method of the handler that tells of n.
func (n *notification[T]) call(h Handler[T]) {
	switch n.kind {
	case added:
		h.OnAdd(n.obj, n.initial)
	case updated:
		h.OnUpdate(n.old, n.obj)
	case deleted:
		h.OnDelete(Deletion[T]{Key: listwatch.KeyOf(n.obj), Obj: n.obj, FinalStateUnknown: n.unknownState})
	}
}

// storeWriter writes batches to the store, and makes the notifications of what has changed. Only the consumer uses it.
//
//	batch ──▶ ops ──store.Apply──▶ store
//	           │ Apply keeps their order, and fills in Old and Existed: what was there before
//	           ▼
//	         notes ──▶ backlogs
type storeWriter[T object] struct {
	store *indexer.Store[key, T]
	// versionsByEvent: each event moves the store's version. That is right only if they come in the order of versions.
	versionsByEvent bool
	beforeStore     func(key, object) // the user's; may be nil

	// The batch at hand. The memory of ops and notes is used again for the next one.
	isInInitialList bool
	ops             []storeOp[T]
	notes           []notification[T]
}

func newStoreWriter[T object](opts Options[T], store *indexer.Store[key, T]) storeWriter[T] {
	return storeWriter[T]{
		store:           store,
		versionsByEvent: opts.Queue != PerKey && !opts.VersionsByBookmark,
		beforeStore:     opts.BeforeStore,
	}
}

// apply changes the store by a batch, and fills ops and notes, which are valid until release. It returns the
// resourceVersion that the store has reached, "" if that is not known.
//
// A batch is never empty. A list, a bookmark or a resync of the in-order queue is alone in its batch. All else is changes
// of single objects.
func (w *storeWriter[T]) apply(batch []delta[T], isInInitialList bool) (version string) {
	w.isInInitialList = isInInitialList
	bulk := batch[0].Bulk
	switch batch[0].Type {
	case deltafifo.ReplacedAll:
		w.applyList(bulk)
		return bulk.ResourceVersion
	case deltafifo.Bookmark:
		w.store.Bookmark(bulk.ResourceVersion)
		return bulk.ResourceVersion
	case deltafifo.SyncAll:
		w.applyResync()
		return ""
	default:
		return w.applyChanges(batch)
	}
}

// applyList makes a list the content of the store. Handlers are told of the deletions, then of the rest. An item to Keep
// is there, but could not be read: the store's version of it stays.
func (w *storeWriter[T]) applyList(list *deltafifo.Bulk[key, T]) {
	// A server that was restored from a backup gives out versions a second time. So it may show another state of an object
	// under the version that the store has: each object counts as changed.
	isRestored := rv.IsOlder(list.ResourceVersion, w.store.ResourceVersion())
	w.deleteUnlisted(list.Items)
	w.ops = slices.Grow(w.ops, len(list.Items))
	for j := range list.Items {
		item := &list.Items[j]
		if !item.Keep {
			w.ops = append(w.ops, storeOp[T]{Key: item.Key, Obj: item.Obj})
		}
	}
	w.commit(list.ResourceVersion)
	for j := range w.ops {
		op := &w.ops[j]
		switch {
		case op.Delete:
			w.tellDeleted(op, true) // nobody saw it go
		case isSameVersion(op) && !isRestored:
			w.tellStored(op, repeated)
		default:
			w.tellStored(op, changed)
		}
	}
}

// deleteUnlisted makes the deletions of what the list lacks, in the order of their keys. The list has no object for
// them, so they carry the store's.
func (w *storeWriter[T]) deleteUnlisted(items []deltafifo.Item[key, T]) {
	listed := make(map[key]bool, len(items))
	for j := range items {
		listed[items[j].Key] = true
	}
	for k, obj := range w.store.All() {
		if !listed[k] {
			w.ops = append(w.ops, storeOp[T]{Key: k, Obj: obj, Delete: true})
		}
	}
	slices.SortFunc(w.ops, func(x, y storeOp[T]) int { return keys.Compare(x.Key, y.Key) })
}

// applyChanges writes the changes of single objects: ops[j] is what batch[j] becomes. It returns the newest version that
// they have, "" if that is not newer than the store's.
func (w *storeWriter[T]) applyChanges(batch []delta[T]) (version string) {
	for j := range batch {
		d := &batch[j]
		w.ops = append(w.ops, storeOp[T]{Key: d.Key, Obj: d.Obj, Delete: d.Type == deltafifo.Deleted})
	}
	if w.versionsByEvent {
		version = newerVersion(w.store.ResourceVersion(), batch)
	}
	w.commit(version)
	for j := range w.ops {
		op, d := &w.ops[j], &batch[j]
		switch {
		case op.Delete:
			w.tellDeleted(op, d.FinalStateUnknown)
		case !isSameVersion(op):
			w.tellStored(op, changed)
		case d.Type == deltafifo.Sync:
			w.tellStored(op, resynced)
		default:
			w.tellStored(op, repeated)
		}
	}
	return version
}

// newerVersion returns the newest version in batch, "" if none is newer than current. A deletion may come with an older
// one, or without an object. What cannot be compared counts as newer.
func newerVersion[T object](current string, batch []delta[T]) (newer string) {
	for j := range batch {
		if batch[j].Missing {
			continue
		}
		version := batch[j].Obj.GetResourceVersion()
		if version == "" || version == current || rv.IsOlder(version, current) {
			continue
		}
		current = version
		newer = version
	}
	return newer
}

// applyResync tells of each object again, and leaves the store as it is.
func (w *storeWriter[T]) applyResync() {
	for _, obj := range w.store.All() {
		w.notes = append(w.notes, notification[T]{kind: updated, old: obj, obj: obj, cause: resynced})
	}
}

// commit writes ops to the store in one step. It calls Options.BeforeStore.
func (w *storeWriter[T]) commit(version string) {
	if w.beforeStore != nil {
		for _, op := range w.ops {
			var obj object // nil for a deletion
			if !op.Delete {
				obj = op.Obj
			}
			w.beforeStore(op.Key, obj)
		}
	}
	w.store.Apply(w.ops, version)
}

// tellStored makes the notification of an object that op has written to the store.
func (w *storeWriter[T]) tellStored(op *storeOp[T], why cause) {
	if op.Existed {
		w.notes = append(w.notes, notification[T]{kind: updated, old: op.Old, obj: op.Obj, cause: why})
	} else {
		w.notes = append(w.notes, notification[T]{kind: added, obj: op.Obj, initial: w.isInInitialList})
	}
}

// tellDeleted makes the notification of a deletion. There is none if the store did not have the object, as when its every
// version failed to transform: handlers never knew of it.
func (w *storeWriter[T]) tellDeleted(op *storeOp[T], finalStateUnknown bool) {
	if !op.Existed {
		return
	}
	n := notification[T]{kind: deleted, old: op.Old, obj: op.Obj, unknownState: finalStateUnknown}
	if isMissing(n.obj) { // it came without a readable object
		n.obj = op.Old
		n.unknownState = true
	}
	w.notes = append(w.notes, n)
}

// isSameVersion reports whether the store had the version that op has written. It compares UIDs, too: a server that was
// restored from a backup gives out versions again, to other objects.
func isSameVersion[T object](op *storeOp[T]) bool {
	return op.Existed && op.Obj.GetResourceVersion() == op.Old.GetResourceVersion() && op.Obj.GetUID() == op.Old.GetUID()
}

// fullBatch is the length of a full batch of changes from the in-order queue.
const fullBatch = 1000

// release clears ops and notes, so that they keep no object alive. It gives the memory of a long list back.
func (w *storeWriter[T]) release() {
	clear(w.ops)
	clear(w.notes)
	w.ops, w.notes = w.ops[:0], w.notes[:0]
	if shrink.IsDue(max(cap(w.ops), cap(w.notes)), fullBatch) {
		w.ops, w.notes = nil, nil
	}
}
