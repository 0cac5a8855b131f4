package deltafifo

import (
	"errors"
	"fmt"
	"slices"
)

// complete keys and transforms the object of d, which has only a Type and an Obj. It tells whether to queue d. When the
// transform failed, OnError is told. A deletion is queued all the same, with Missing set; nothing else is. The error
// wraps ErrNoKey, except when the Type is not Added, Updated or Deleted.
func (o *Options[K, T]) complete(d *Delta[K, T]) (ok bool, err error) {
	if d.Type < Added || d.Type > Deleted {
		return false, fmt.Errorf("deltafifo: %v is not Added, Updated or Deleted", d.Type)
	}
	obj := d.Obj
	var none T
	// Field by field: building a Delta and copying it takes longer than all else here.
	d.Obj, d.Missing, d.FinalStateUnknown, d.Bulk = none, true, false, nil
	if d.Key, err = recovered(o.KeyFunc, obj, "KeyFunc"); err != nil {
		return false, fmt.Errorf("%w, got %T: %w", ErrNoKey, obj, err)
	}
	if o.Transform != nil {
		if obj, err = recovered(o.Transform, obj, "transform"); err != nil {
			if o.OnError != nil {
				o.OnError(d.Key, err)
			}
			return d.Type == Deleted, nil
		}
	}
	d.Obj, d.Missing = obj, false
	return true, nil
}

// list turns what Replace was given into items. An object whose transform failed becomes a Keep item. Keep items whose
// key also has an object are left out. So are objects without a key; the error joins one ErrNoKey for each of those.
func (o *Options[K, T]) list(objs []T, keep []K) ([]Item[K, T], error) {
	items := make([]Item[K, T], 0, len(objs)+len(keep))
	var errs []error
	for _, obj := range objs {
		d := Delta[K, T]{Type: Added, Obj: obj}
		ok, err := o.complete(&d)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		items = append(items, Item[K, T]{Key: d.Key, Obj: d.Obj, Keep: !ok})
	}
	for _, key := range keep {
		items = append(items, Item[K, T]{Key: key, Keep: true})
	}
	if slices.ContainsFunc(items, func(i Item[K, T]) bool { return i.Keep }) {
		readable := make(map[K]bool, len(objs))
		for _, item := range items {
			readable[item.Key] = readable[item.Key] || !item.Keep
		}
		items = slices.DeleteFunc(items, func(i Item[K, T]) bool { return i.Keep && readable[i.Key] })
	}
	return items, errors.Join(errs...)
}

// recovered calls f, and turns a panic into an error.
func recovered[T, R any](f func(T) (R, error), obj T, name string) (out R, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s %w: %v", name, ErrPanicked, r)
		}
	}()
	return f(obj)
}
