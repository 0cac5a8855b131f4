package sharedinformer

import (
	"context"
	"slices"

	"k8s.io/klog/v2"

	"glasswatch/deltafifo"
)

// maxScratch is the largest scratch that the consumer keeps between two batches.
const maxScratch = 4096

// consume applies what the queue gives to the store and fans it out, until the queue is closed or ctx ends.
func (i *Informer[T]) consume(ctx context.Context) {
	// Bound once: a method value made for each pop would be an allocation for each pop.
	inOrder, perKey := i.processBatch, i.processObject
	for ctx.Err() == nil {
		var err error
		if i.perKey != nil {
			err = i.perKey.Pop(perKey)
		} else {
			err = i.inOrder.PopBatch(inOrder)
		}
		i.reportFailed()
		if err != nil { // closed: process functions return no error
			return
		}
	}
}

// processObject applies the deltas of one object, oldest first. The DeltaFIFO calls it with its lock held.
func (i *Informer[T]) processObject(_ key, deltas []delta[T], isInInitialList bool) error {
	return i.processBatch(deltas, isInInitialList)
}

// processBatch applies a batch. Bulk deltas come alone.
func (i *Informer[T]) processBatch(batch []delta[T], isInInitialList bool) error {
	if len(batch) == 1 {
		switch d := &batch[0]; d.Type {
		case deltafifo.ReplacedAll:
			i.replaceAll(d.Bulk, isInInitialList)
			return nil
		case deltafifo.SyncAll:
			i.syncAll()
			return nil
		case deltafifo.Bookmark:
			i.store.Bookmark(d.Bulk.ResourceVersion)
			i.versions.moved(d.Bulk.ResourceVersion)
			return nil
		}
	}
	ops := i.ops[:0]
	resourceVersion := ""
	for j := range batch {
		d := &batch[j]
		ops = append(ops, storeOp[T]{Key: d.Key, Obj: d.Obj, Delete: d.Type == deltafifo.Deleted})
		// In order means that everything up to this version has arrived. Tombstones carry an older one.
		if i.inOrder != nil && !d.Missing && !d.FinalStateUnknown {
			resourceVersion = d.Obj.GetResourceVersion()
		}
	}
	i.mu.Lock()
	i.store.Apply(ops, resourceVersion)
	notes := i.batch[:0]
	for j := range ops {
		notes = appendChange(notes, &ops[j], &batch[j], isInInitialList)
	}
	lagging := i.distributeLocked(notes)
	i.mu.Unlock()
	i.versions.moved(resourceVersion)
	if i.opts.Trace != nil {
		for j := range ops {
			i.traceApplied(batch[j].Type, &ops[j])
		}
	}
	i.keepScratch(ops, notes)
	logLagging(lagging)
	return nil
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
func (i *Informer[T]) replaceAll(list *deltafifo.Bulk[key, T], isInInitialList bool) {
	i.mu.Lock()
	ops := i.missingLocked(list)
	deletions := len(ops)
	for j := range list.Items {
		if item := &list.Items[j]; !item.Keep {
			ops = append(ops, storeOp[T]{Key: item.Key, Obj: item.Obj})
		}
	}
	i.store.Apply(ops, list.ResourceVersion)
	notes := slices.Grow(i.batch[:0], len(ops))
	gone := delta[T]{FinalStateUnknown: true}
	for j := range ops {
		op := &ops[j]
		if j < deletions {
			op.Obj = op.Old // the last version there was
		}
		notes = appendChange(notes, op, &gone, isInInitialList)
	}
	lagging := i.distributeLocked(notes)
	i.mu.Unlock()
	i.versions.moved(list.ResourceVersion)
	if i.opts.Trace != nil {
		for j := range ops {
			i.traceApplied(deltafifo.ReplacedAll, &ops[j])
		}
	}
	i.keepScratch(ops, notes)
	logLagging(lagging)
}

// missingLocked returns the deletions of what the store has and the list has not, in the order of their keys.
func (i *Informer[T]) missingLocked(list *deltafifo.Bulk[key, T]) []storeOp[T] {
	ops := slices.Grow(i.ops[:0], len(list.Items))
	if i.store.Len() == 0 {
		return ops
	}
	listed := make(map[key]struct{}, len(list.Items))
	for j := range list.Items {
		listed[list.Items[j].Key] = struct{}{}
	}
	for k := range i.store.All() {
		if _, ok := listed[k]; !ok {
			ops = append(ops, storeOp[T]{Key: k, Delete: true})
		}
	}
	slices.SortFunc(ops, func(a, b storeOp[T]) int { return compareKeys(a.Key, b.Key) })
	return ops
}

// syncAll gives the handlers that are due a resync every object as an update to itself.
func (i *Informer[T]) syncAll() {
	i.mu.Lock()
	notes := i.batch[:0]
	if slices.ContainsFunc(i.listeners, func(l *listener[T]) bool { return l.due }) {
		for _, obj := range i.store.All() {
			notes = append(notes, notification[T]{kind: updated, old: obj, obj: obj, sameVersion: true})
		}
	}
	lagging := i.distributeLocked(notes)
	i.mu.Unlock()
	i.keepScratch(nil, notes)
	logLagging(lagging)
}

// distributeLocked appends a batch to every backlog. It removes and returns the listeners that lag too far behind.
func (i *Informer[T]) distributeLocked(notes []notification[T]) (lagging []*listener[T]) {
	if len(notes) == 0 {
		return nil
	}
	for _, l := range i.listeners {
		if !l.append(notes) {
			lagging = append(lagging, l)
		}
	}
	for _, l := range lagging {
		i.removeLocked(l, l.backlogError())
	}
	return lagging
}

// keepScratch zeroes the scratch, so that it keeps no object alive, and keeps it unless it is large. Only the consumer
// touches it.
func (i *Informer[T]) keepScratch(ops []storeOp[T], notes []notification[T]) {
	clear(ops)
	clear(notes)
	if cap(ops) > maxScratch {
		i.ops = nil
	} else if cap(ops) > 0 {
		i.ops = ops[:0]
	}
	if cap(notes) > maxScratch {
		notes = nil
	}
	i.batch = notes[:0]
}

func logLagging[T object](lagging []*listener[T]) {
	for _, l := range lagging {
		klog.Background().Error(l.Err(), "Handler removed")
	}
}
