package sharedinformer

import (
	"slices"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
)

// maxScratch is the largest scratch that is kept between two batches.
const maxScratch = 4096

// applier brings a store in line with what a queue gives, and says what handlers are to be told of it. It belongs to
// the consumer.
type applier[T object] struct {
	store *store[T]
	// eventsVersion: everything up to the version of an event has arrived with it, so the store's version follows.
	eventsVersion bool
	beforeStore   func(listwatch.Key, listwatch.Object) // Options.BeforeStore
	// restated are the objects of the list at hand that are another state under a version that the store knows.
	restated map[key]bool

	// Scratch, reused from batch to batch.
	ops   []storeOp[T]
	notes []notification[T]
}

// apply takes a batch over, in which a bulk delta is alone. It changes the store in one step. notes say, in order, what
// handlers are to be told; they are valid until release. version is the resourceVersion that the store has reached, ""
// if that is not known.
func (a *applier[T]) apply(batch []delta[T], isInInitialList bool) (notes []notification[T], version string) {
	switch d := &batch[0]; d.Type {
	case deltafifo.ReplacedAll:
		a.replaceAll(d.Bulk, isInInitialList)
		return a.notes, d.Bulk.ResourceVersion
	case deltafifo.SyncAll:
		for _, obj := range a.store.All() {
			a.notes = append(a.notes, notification[T]{kind: updated, old: obj, obj: obj, sameVersion: true, resync: true})
		}
		return a.notes, ""
	case deltafifo.Bookmark:
		a.store.Bookmark(d.Bulk.ResourceVersion)
		return nil, d.Bulk.ResourceVersion
	}
	for j := range batch {
		d := &batch[j]
		a.ops = append(a.ops, storeOp[T]{Key: d.Key, Obj: d.Obj, Delete: d.Type == deltafifo.Deleted})
		// A tombstone of unknown state carries an older version.
		if a.eventsVersion && !d.Missing && !d.FinalStateUnknown {
			version = d.Obj.GetResourceVersion()
		}
	}
	a.write(version)
	for j := range a.ops {
		a.noteChange(&a.ops[j], &batch[j], isInInitialList)
	}
	return a.notes, version
}

// write commits the operations.
func (a *applier[T]) write(version string) {
	if a.beforeStore != nil {
		for j := range a.ops {
			var obj object // nil: it leaves the store
			if !a.ops[j].Delete {
				obj = a.ops[j].Obj
			}
			a.beforeStore(a.ops[j].Key, obj)
		}
	}
	a.store.Apply(a.ops, version)
}

// noteChange turns what the store says of op into the handlers' view of it.
func (a *applier[T]) noteChange(op *storeOp[T], d *delta[T], isInInitialList bool) {
	n := notification[T]{kind: added, initial: isInInitialList, obj: op.Obj}
	switch {
	case op.Delete && !op.Existed:
		return // handlers never knew of it, as when its every version failed to transform
	case op.Delete && d.Missing:
		n = notification[T]{kind: deleted, old: op.Old, obj: op.Old, unknownState: true}
	case op.Delete:
		n = notification[T]{kind: deleted, old: op.Old, obj: op.Obj, unknownState: d.FinalStateUnknown}
	case op.Existed:
		n = notification[T]{
			kind: updated, old: op.Old, obj: op.Obj,
			sameVersion: op.Obj.GetResourceVersion() == op.Old.GetResourceVersion() && !a.restated[op.Key],
			resync:      d.Type == deltafifo.Sync,
		}
	}
	a.notes = append(a.notes, n)
}

// replaceAll makes the store equal to a full list. Handlers are told of the deletions first, in the order of their
// keys.
func (a *applier[T]) replaceAll(list *deltafifo.Bulk[key, T], isInInitialList bool) {
	listed := make(map[key]bool, len(list.Items))
	for j := range list.Items {
		listed[list.Items[j].Key] = true
	}
	for k := range a.store.All() {
		if !listed[k] {
			a.ops = append(a.ops, storeOp[T]{Key: k, Delete: true})
		}
	}
	slices.SortFunc(a.ops, func(x, y storeOp[T]) int { return compareKeys(x.Key, y.Key) })
	a.ops = slices.Grow(a.ops, len(list.Items))
	for j := range list.Items {
		if item := &list.Items[j]; !item.Keep {
			a.ops = append(a.ops, storeOp[T]{Key: item.Key, Obj: item.Obj})
		}
	}
	a.write(list.ResourceVersion)
	a.notes = slices.Grow(a.notes, len(a.ops))
	missing := delta[T]{Missing: true} // of a deletion: the list has no version of it
	for j := range a.ops {
		a.noteChange(&a.ops[j], &missing, isInInitialList)
	}
}

// release zeroes the scratch, so that it keeps no object alive, and keeps it unless it is large.
func (a *applier[T]) release() {
	a.restated = nil
	a.ops = reuse(a.ops)
	a.notes = reuse(a.notes)
}

func reuse[E any](s []E) []E {
	clear(s)
	if cap(s) > maxScratch {
		return nil
	}
	return s[:0]
}
