package cache

import (
	"errors"
	"fmt"
)

// applier makes a store follow a queue, and calls a handler.
type applier struct {
	store   Store
	handler ResourceEventHandler
}

// process applies what a queue of deltas pops, oldest first.
func (a applier) process(popped any, isInInitialList bool) error {
	deltas, ok := popped.(Deltas)
	if !ok {
		return fmt.Errorf("the queue popped a %T, not Deltas", popped)
	}
	for _, d := range deltas {
		if err := a.apply(d, isInInitialList); err != nil {
			return err
		}
	}
	return nil
}

func (a applier) apply(d Delta, isInInitialList bool) error {
	switch d.Type {
	case Added, Updated, Replaced, Sync:
		old, exists, err := a.store.Get(d.Object)
		if err != nil || !exists {
			if err = a.store.Add(d.Object); err == nil {
				a.handler.OnAdd(d.Object, isInInitialList)
			}
			return err
		}
		if err = a.store.Update(d.Object); err == nil {
			a.handler.OnUpdate(old, d.Object)
		}
		return err
	case Deleted:
		err := a.store.Delete(d.Object)
		if err == nil {
			a.handler.OnDelete(d.Object)
		}
		return err
	}
	return a.applyBulk(d, isInInitialList)
}

func (a applier) applyBulk(d Delta, isInInitialList bool) error {
	switch info := d.Object.(type) {
	case ReplacedAllInfo:
		return a.replaceAll(info, isInInitialList)
	case SyncAllInfo:
		for _, obj := range a.store.List() {
			a.handler.OnUpdate(obj, obj)
		}
	case BookmarkInfo:
		a.store.Bookmark(info.ResourceVersion)
	default:
		return fmt.Errorf("a delta of type %s has a %T", d.Type, d.Object)
	}
	return nil
}

// replaceAll makes the store equal to a full list, but for what is kept: store first, then deletions, then the rest.
func (a applier) replaceAll(info ReplacedAllInfo, isInInitialList bool) error {
	type change struct{ old, obj any }
	listed := make(map[string]int, len(info.Objects))
	changes := make([]change, 0, len(info.Objects))
	objs := make([]any, 0, len(info.Objects)) // what the store is to have
	for _, obj := range info.Objects {
		if last, ok := obj.(kept); ok { // as are all that come after it
			objs = a.appendKept(objs, listed, last.key)
			continue
		}
		objs = append(objs, obj)
		key, err := DeletionHandlingMetaNamespaceKeyFunc(obj)
		if err != nil {
			return KeyError{Obj: obj, Err: err}
		}
		if at, twice := listed[key]; twice {
			changes[at].obj = obj // the last one counts
			continue
		}
		old, exists, err := a.store.GetByKey(key)
		if err != nil || !exists {
			old = nil
		}
		listed[key] = len(changes)
		changes = append(changes, change{old, obj})
	}
	var gone []DeletedFinalStateUnknown
	for _, key := range a.store.ListKeys() {
		if _, ok := listed[key]; !ok {
			obj, _, _ := a.store.GetByKey(key)
			gone = append(gone, DeletedFinalStateUnknown{Key: key, Obj: obj})
		}
	}
	if err := a.store.Replace(objs, info.ResourceVersion); err != nil {
		return err
	}
	for _, tombstone := range gone {
		a.handler.OnDelete(tombstone)
	}
	for _, c := range changes {
		if c.old != nil {
			a.handler.OnUpdate(c.old, c.obj)
		} else {
			a.handler.OnAdd(c.obj, isInInitialList)
		}
	}
	return nil
}

// appendKept appends the store's version of an object, unless it has none, or the list has one.
func (a applier) appendKept(objs []any, listed map[string]int, key string) []any {
	old, exists, err := a.store.GetByKey(key)
	_, isListed := listed[key]
	if err != nil || !exists || isListed {
		return objs
	}
	listed[key] = -1 // nothing changes
	return append(objs, old)
}

// processBatch applies deltas of different objects, in one transaction if the store can, and calls the handler.
func (a applier) processBatch(deltas []Delta, isInInitialList bool) error {
	store, ok := a.store.(TransactionStore)
	if !ok {
		var errs []error
		for _, d := range deltas {
			errs = append(errs, a.apply(d, isInInitialList))
		}
		return errors.Join(errs...)
	}
	writes := make([]Transaction, len(deltas))
	olds := make([]any, len(deltas))
	for i, d := range deltas {
		writes[i] = Transaction{Object: d.Object, Type: TransactionTypeAdd}
		switch d.Type {
		case Added, Updated, Replaced, Sync:
			if old, exists, err := a.store.Get(d.Object); exists && err == nil {
				olds[i], writes[i].Type = old, TransactionTypeUpdate
			}
		case Deleted:
			writes[i].Type = TransactionTypeDelete
		default:
			return fmt.Errorf("a delta of type %s is in a batch", d.Type)
		}
	}
	tell := func(i int) {
		switch writes[i].Type {
		case TransactionTypeAdd:
			a.handler.OnAdd(writes[i].Object, isInInitialList)
		case TransactionTypeUpdate:
			a.handler.OnUpdate(olds[i], writes[i].Object)
		case TransactionTypeDelete:
			a.handler.OnDelete(writes[i].Object)
		}
	}
	if err := store.Transaction(writes...); err != nil {
		for _, i := range err.SuccessfulIndices {
			tell(i)
		}
		return fmt.Errorf("not all of the batch is in the store: %w", err)
	}
	for i := range writes {
		tell(i)
	}
	return nil
}
