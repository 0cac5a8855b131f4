package sharedinformer

import (
	"slices"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
)

// maxScratch is the largest scratch that is kept between two batches.
const maxScratch = 4096

// applier brings a store in line with what a queue gives, and says what handlers are to be told of it. It belongs to the
// consumer.
type applier[T object] struct {
	store *store[T]
	// inOrder: everything up to the version of an event has arrived with it, so the store's version follows.
	inOrder bool
	// beforeStore is Options.BeforeStore.
	beforeStore func(listwatch.Key, listwatch.Object)
	// restated are the objects of the list at hand that are another state under a version that the store knows; nil as a rule.
	// Invariant: each is an item of that list, so none is among the deletions, and there is a notification of each.
	restated map[key]struct{}

	// Scratch, reused from batch to batch.
	ops   []storeOp[T]
	notes []notification[T]
}

// apply takes a batch over, in which a bulk delta is alone: the store first, in one step; then notes say, in order, what
// is to be told. compare must have seen the batch before. version is the resourceVersion that the store has reached, "" if
// that is not known. notes are valid until release, which must follow.
func (a *applier[T]) apply(batch []delta[T], isInInitialList bool) (notes []notification[T], version string) {
	a.ops, a.notes = a.ops[:0], a.notes[:0]
	switch d := &batch[0]; d.Type {
	case deltafifo.ReplacedAll:
		a.replaceAll(d.Bulk, isInInitialList)
		return a.notes, d.Bulk.ResourceVersion
	case deltafifo.SyncAll:
		a.syncAll()
		return a.notes, ""
	case deltafifo.Bookmark:
		a.store.Bookmark(d.Bulk.ResourceVersion)
		return nil, d.Bulk.ResourceVersion
	}
	a.ops = slices.Grow(a.ops, len(batch))[:len(batch)] // zero, as release leaves it
	for j := range batch {
		d, op := &batch[j], &a.ops[j]
		op.Key, op.Obj, op.Delete = d.Key, d.Obj, d.Type == deltafifo.Deleted
	}
	if a.inOrder {
		version = lastVersion(batch)
	}
	a.announce()
	a.store.Apply(a.ops, version)
	for j := range a.ops {
		a.notes = appendChange(a.notes, &a.ops[j], &batch[j], isInInitialList)
	}
	return a.notes, version
}

// announce tells beforeStore of what is about to be written.
func (a *applier[T]) announce() {
	if a.beforeStore == nil {
		return
	}
	for j := range a.ops {
		if op := &a.ops[j]; op.Delete {
			a.beforeStore(op.Key, nil)
		} else {
			a.beforeStore(op.Key, op.Obj)
		}
	}
}

// lastVersion is the version that a batch of single objects leads up to, "" if it does not tell.
func lastVersion[T object](batch []delta[T]) string {
	for j := len(batch) - 1; j >= 0; j-- {
		if d := &batch[j]; !d.Missing && !d.FinalStateUnknown { // tombstones carry an older one
			return d.Obj.GetResourceVersion()
		}
	}
	return ""
}

// appendChange turns what the store says of op into the handlers' view of it.
func appendChange[T object](dst []notification[T], op *storeOp[T], d *delta[T], isInInitialList bool) []notification[T] {
	switch {
	case !op.Delete && !op.Existed:
		return append(dst, notification[T]{kind: added, initial: isInInitialList, obj: op.Obj})
	case !op.Delete:
		return append(dst, notification[T]{
			kind: updated, old: op.Old, obj: op.Obj,
			sameVersion: op.Old.GetResourceVersion() == op.Obj.GetResourceVersion(),
			resync:      d.Type == deltafifo.Sync,
		})
	case !op.Existed:
		return dst // handlers never knew of it, as when its every version failed to transform
	case d.Missing:
		return append(dst, notification[T]{kind: deleted, old: op.Old, obj: op.Old, unknownState: true})
	default:
		return append(dst, notification[T]{kind: deleted, old: op.Old, obj: op.Obj, unknownState: d.FinalStateUnknown})
	}
}

// replaceAll makes the store equal to a full list: store first, then deletions, then the rest.
func (a *applier[T]) replaceAll(list *deltafifo.Bulk[key, T], isInInitialList bool) {
	a.ops = a.appendMissing(slices.Grow(a.ops, len(list.Items)), list)
	deletions := len(a.ops)
	for j := range list.Items {
		if item := &list.Items[j]; !item.Keep {
			a.ops = append(a.ops, storeOp[T]{Key: item.Key, Obj: item.Obj})
		}
	}
	a.announce()
	a.store.Apply(a.ops, list.ResourceVersion)
	a.notes = slices.Grow(a.notes, len(a.ops))
	gone := delta[T]{FinalStateUnknown: true}
	for j := range a.ops {
		op := &a.ops[j]
		if j < deletions {
			op.Obj = op.Old // the last version there was
		}
		a.notes = appendChange(a.notes, op, &gone, isInInitialList)
		if _, ok := a.restated[op.Key]; ok {
			a.notes[len(a.notes)-1].sameVersion = false
		}
	}
}

// appendMissing appends the deletions of what the store has and the list has not, in the order of their keys.
func (a *applier[T]) appendMissing(ops []storeOp[T], list *deltafifo.Bulk[key, T]) []storeOp[T] {
	if a.store.Len() == 0 {
		return ops
	}
	listed := make(map[key]struct{}, len(list.Items))
	for j := range list.Items {
		listed[list.Items[j].Key] = struct{}{}
	}
	for k := range a.store.All() {
		if _, ok := listed[k]; !ok {
			ops = append(ops, storeOp[T]{Key: k, Delete: true})
		}
	}
	slices.SortFunc(ops, func(x, y storeOp[T]) int { return compareKeys(x.Key, y.Key) })
	return ops
}

// syncAll tells of every object as an update to itself.
func (a *applier[T]) syncAll() {
	for _, obj := range a.store.All() {
		a.notes = append(a.notes, notification[T]{kind: updated, old: obj, obj: obj, sameVersion: true, resync: true})
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
