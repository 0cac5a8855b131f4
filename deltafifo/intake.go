package deltafifo

import (
	"errors"
	"fmt"
)

// complete keys and transforms the object of d, which has only a Type and an Obj. It tells whether to queue d: when the
// transform failed, only a deletion is, Missing its object. The error wraps ErrNoKey.
func (o *Options[K, T]) complete(d *Delta[K, T]) (ok bool, err error) {
	key, obj, ok, err := o.take(d.Obj)
	// Field by field: building a Delta and copying it takes longer than all else here.
	d.Key, d.Obj, d.Missing, d.FinalStateUnknown, d.Bulk = key, obj, !ok, false, nil
	return ok || d.Type == Deleted, err
}

// list turns what Replace was given into items. An object whose transform failed becomes a Keep item. One without a
// key is left out; the error joins one ErrNoKey for each of those.
func (o *Options[K, T]) list(objs []T, keep []K) ([]Item[K, T], error) {
	items := make([]Item[K, T], 0, len(objs)+len(keep))
	var errs []error
	for _, obj := range objs {
		key, obj, ok, err := o.take(obj)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		items = append(items, Item[K, T]{Key: key, Obj: obj, Keep: !ok})
	}
	for _, key := range keep {
		items = append(items, Item[K, T]{Key: key, Keep: true})
	}
	return items, errors.Join(errs...)
}

// take keys and transforms one object. The error wraps ErrNoKey. When the transform fails, OnError is told, ok is
// false and out is the zero value.
func (o *Options[K, T]) take(obj T) (key K, out T, ok bool, err error) {
	if key, err = recovered(o.KeyFunc, obj, "KeyFunc"); err != nil {
		return key, out, false, fmt.Errorf("%w, got %T: %w", ErrNoKey, obj, err)
	}
	if o.Transform == nil {
		return key, obj, true, nil
	}
	transformed, err := recovered(o.Transform, obj, "transform")
	if err == nil {
		return key, transformed, true, nil
	}
	if o.OnError != nil {
		o.OnError(key, err)
	}
	return key, out, false, nil
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
