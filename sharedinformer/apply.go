package sharedinformer

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/deltafifo"
	"glasswatch/indexer"
	"glasswatch/internal/keys"
	"glasswatch/internal/shrink"
)

// storeWriter writes batches to the store, and says what handlers are to be told of them. Only the consumer uses it.
//
//	batch ──▶ ops ──one transaction──▶ store
//	           │ what was there before
//	           ▼
//	         notes ──▶ backlogs
type storeWriter[T object] struct {
	store *indexer.Store[key, T]
	// versionsByEvent: each event moves the store's version. That is right only if they come in the order of versions.
	versionsByEvent bool
	beforeStore     func(key, object) // the user's; may be nil

	// What the batch becomes. The memory is used again for the next one.
	ops   []storeOp[T]
	notes []notification[T]
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
func (w *storeWriter[T]) apply(batch []delta[T], isInInitialList bool) (version string) {
	bulk := batch[0].Bulk // a bulk delta is alone in its batch
	switch batch[0].Type {
	case deltafifo.ReplacedAll:
		w.applyList(bulk, isInInitialList)
		return bulk.ResourceVersion
	case deltafifo.Bookmark:
		w.store.Bookmark(bulk.ResourceVersion)
		return bulk.ResourceVersion
	case deltafifo.SyncAll:
		w.applyResync()
		return ""
	default:
		return w.applyChanges(batch, isInInitialList)
	}
}

// applyList makes a list the content of the store. Handlers are told of the deletions, then of the rest.
func (w *storeWriter[T]) applyList(list *deltafifo.Bulk[key, T], isInInitialList bool) {
	// If the store's version is not below the list's, the server may have been restored from a backup, and gives out versions
	// a second time. Then equal versions do not prove equal objects.
	mayBeRestored, _ := hasReached(w.store.ResourceVersion(), list.ResourceVersion)
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
		why := changed
		if isSameVersion(op) && (!mayBeRestored || isSameState(op.Old, op.Obj)) {
			why = repeated
		}
		w.tell(op, why, isInInitialList, false)
	}
}

// deleteUnlisted makes the deletions of what the list lacks, in the order of their keys.
func (w *storeWriter[T]) deleteUnlisted(items []deltafifo.Item[key, T]) {
	listed := make(map[key]bool, len(items))
	for j := range items {
		listed[items[j].Key] = true
	}
	for k := range w.store.All() {
		if !listed[k] {
			w.ops = append(w.ops, storeOp[T]{Key: k, Delete: true})
		}
	}
	slices.SortFunc(w.ops, func(x, y storeOp[T]) int { return keys.Compare(x.Key, y.Key) })
}

// applyChanges writes the changes of single objects. It returns the newest version that they have, "" if that is not
// newer than the store's.
func (w *storeWriter[T]) applyChanges(batch []delta[T], isInInitialList bool) (version string) {
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
		why := changed
		switch {
		case !isSameVersion(op):
		case d.Type == deltafifo.Sync:
			why = resynced
		default:
			why = repeated
		}
		w.tell(op, why, isInInitialList, d.FinalStateUnknown)
	}
	return version
}

// newerVersion returns the newest version in batch, "" if none is newer than current. A tombstone carries an older one,
// and so does what some servers send for a deletion.
func newerVersion[T object](current string, batch []delta[T]) (newer string) {
	for j := range batch {
		if batch[j].Missing {
			continue
		}
		version := batch[j].Obj.GetResourceVersion()
		order, err := resourceversion.CompareResourceVersion(version, current)
		if version != "" && (err != nil || order > 0) {
			current = version
			newer = version
		}
	}
	return newer
}

// applyResync tells of each object again, and leaves the store as it is.
func (w *storeWriter[T]) applyResync() {
	for k, obj := range w.store.All() {
		w.tell(&storeOp[T]{Key: k, Old: obj, Obj: obj, Existed: true}, resynced, false, false)
	}
}

// tell makes the notification of an operation that the store has done:
//
//	before   after    handlers are told
//	absent   absent   nothing: they never knew of it, as when its every version failed to transform
//	absent   object   OnAdd
//	object   object   OnUpdate; the cause decides which handlers
//	object   absent   OnDelete with the deletion's object, or with the one before and an unknown
//	                  final state if the deletion has none, as in a list, or if its transform failed
func (w *storeWriter[T]) tell(op *storeOp[T], why cause, isInInitialList, finalStateUnknown bool) {
	switch {
	case op.Delete && !op.Existed:
	case !op.Existed:
		w.notes = append(w.notes, notification[T]{kind: added, obj: op.Obj, initial: isInInitialList})
	case !op.Delete:
		w.notes = append(w.notes, notification[T]{kind: updated, old: op.Old, obj: op.Obj, cause: why})
	case objectOf(op.Obj) == nil:
		w.notes = append(w.notes, notification[T]{kind: deleted, old: op.Old, obj: op.Old, unknownState: true})
	default:
		w.notes = append(w.notes, notification[T]{kind: deleted, old: op.Old, obj: op.Obj, unknownState: finalStateUnknown})
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

// isSameVersion reports whether an operation has left an object as it was, as its resourceVersion says. It compares
// UIDs, too: a server that was restored from a backup gives out versions again, to other objects.
func isSameVersion[T object](op *storeOp[T]) bool {
	if op.Delete || !op.Existed {
		return false
	}
	return op.Obj.GetResourceVersion() == op.Old.GetResourceVersion() && op.Obj.GetUID() == op.Old.GetUID()
}

// isSameState compares two objects of one version. What cannot be compared, such as fields that are not exported,
// counts as different.
func isSameState(a, b any) (same bool) {
	defer func() { _ = recover() }()
	return equalities.DeepEqualWithNilDifferentFromEmpty(a, b)
}

// equalities compare objects by what they say. Printing a Quantity stores its text in it, and a handler may do so at this
// moment. So a Quantity behind a pointer is compared by its value only.
var equalities = func() conversion.Equalities {
	e := equality.Semantic.Copy()
	utilruntime.Must(e.AddFunc(func(a, b *quantity.Quantity) bool {
		return a == b || a != nil && b != nil && a.Cmp(*b) == 0
	}))
	return e
}()

// fullBatch is how many operations and notifications a full batch of the in-order queue needs.
const fullBatch = 2000

// release clears ops and notes, so that they keep no object alive. It gives their memory back if it is much.
func (w *storeWriter[T]) release() {
	clear(w.ops)
	clear(w.notes)
	w.ops, w.notes = w.ops[:0], w.notes[:0]
	if shrink.IsDue(cap(w.ops)+cap(w.notes), fullBatch) {
		w.ops, w.notes = nil, nil
	}
}
