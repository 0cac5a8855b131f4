package sharedinformer

import (
	"slices"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
)

// maxScratch is the largest scratch that is kept between two batches.
const maxScratch = 8192

// applier brings a store in line with what a queue gives, and says what handlers are to be told of it. It belongs to
// the consumer.
type applier[T object] struct {
	store *store[T]
	// eventsVersion: everything up to the version of an event has arrived with it, so the store's version follows.
	eventsVersion bool
	beforeStore   func(listwatch.Key, listwatch.Object) // Options.BeforeStore

	// Scratch, reused from batch to batch.
	ops   []storeOp[T]
	notes []notification[T]
}

// apply takes a batch over, in which a bulk delta is alone. It changes the store in one step. notes say, in order, what
// handlers are to be told; they are valid until release. version is the resourceVersion that the store has reached, ""
// if that is not known.
func (a *applier[T]) apply(batch []delta[T], isInInitialList bool) (notes []notification[T], version string) {
	gone := &delta[T]{Missing: true} // a list has no version of what it lacks
	restates := false
	switch list := batch[0].Bulk; batch[0].Type {
	case deltafifo.SyncAll:
		for _, obj := range a.store.All() {
			n := notification[T]{kind: updated, old: obj, obj: obj, sameVersion: true, resync: true}
			a.notes = append(a.notes, n)
		}
		return a.notes, ""
	case deltafifo.Bookmark:
		a.store.Bookmark(list.ResourceVersion)
		return nil, list.ResourceVersion
	case deltafifo.ReplacedAll:
		version = list.ResourceVersion
		restates = mayRestate(version, a.store.ResourceVersion())
		a.replace(list.Items)
		batch = nil
	default:
		for j := range batch {
			d := &batch[j]
			a.ops = append(a.ops, storeOp[T]{Key: d.Key, Obj: d.Obj, Delete: d.Type == deltafifo.Deleted})
			// A tombstone of unknown state carries an older version.
			if a.eventsVersion && !d.Missing && !d.FinalStateUnknown {
				version = d.Obj.GetResourceVersion()
			}
		}
	}
	for j := range a.ops {
		if op := &a.ops[j]; a.beforeStore != nil && op.Delete {
			a.beforeStore(op.Key, nil)
		} else if a.beforeStore != nil {
			a.beforeStore(op.Key, op.Obj)
		}
	}
	a.store.Apply(a.ops, version)
	a.notes = slices.Grow(a.notes, len(a.ops))
	for j := range a.ops {
		d := gone
		if batch != nil {
			d = &batch[j]
		}
		a.noteChange(&a.ops[j], d, isInInitialList, restates)
	}
	return a.notes, version
}

// noteChange turns what the store says of op into the handlers' view of it.
func (a *applier[T]) noteChange(op *storeOp[T], d *delta[T], isInInitialList, restates bool) {
	n := notification[T]{kind: added, initial: isInInitialList, obj: op.Obj}
	switch {
	case op.Delete && !op.Existed:
		return // handlers never knew of it, as when its every version failed to transform
	case op.Delete && d.Missing:
		n = notification[T]{kind: deleted, old: op.Old, obj: op.Old, unknownState: true}
	case op.Delete:
		n = notification[T]{kind: deleted, old: op.Old, obj: op.Obj, unknownState: d.FinalStateUnknown}
	case op.Existed:
		n = notification[T]{kind: updated, old: op.Old, obj: op.Obj, resync: d.Type == deltafifo.Sync}
		n.sameVersion = op.Obj.GetResourceVersion() == op.Old.GetResourceVersion()
		if n.sameVersion && restates {
			n.sameVersion = isSameState(op.Old, op.Obj)
		}
	}
	a.notes = append(a.notes, n)
}

// replace makes the operations that leave the store with a list: first the deletions, in the order of their keys.
func (a *applier[T]) replace(items []deltafifo.Item[key, T]) {
	listed := make(map[key]bool, len(items))
	for j := range items {
		listed[items[j].Key] = true
	}
	for k := range a.store.All() {
		if !listed[k] {
			a.ops = append(a.ops, storeOp[T]{Key: k, Delete: true})
		}
	}
	slices.SortFunc(a.ops, func(x, y storeOp[T]) int { return compareKeys(x.Key, y.Key) })
	a.ops = slices.Grow(a.ops, len(items))
	for j := range items {
		if item := &items[j]; !item.Keep {
			a.ops = append(a.ops, storeOp[T]{Key: item.Key, Obj: item.Obj})
		}
	}
}

// release zeroes the scratch, so that it keeps no object alive, and keeps it unless it is large.
func (a *applier[T]) release() {
	clear(a.ops)
	clear(a.notes)
	a.ops, a.notes = a.ops[:0], a.notes[:0]
	if cap(a.ops)+cap(a.notes) > maxScratch {
		a.ops, a.notes = nil, nil
	}
}
