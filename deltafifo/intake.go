package deltafifo

import (
	"errors"
	"fmt"

	"glasswatch/internal/guard"
)

// eventOf is deltaOf for the types of which PutAll takes deltas.
func (o *Options[K, T]) eventOf(t DeltaType, obj T) (d Delta[K, T], err error) {
	if t < Added || t > Deleted {
		return d, fmt.Errorf("deltafifo: %v is not Added, Updated or Deleted", t)
	}
	return o.deltaOf(t, obj)
}

// deltaOf keys and transforms an object. If the transform fails, OnError is told, and the delta is Missing and has no
// object. It is an error if there is no key.
func (o *Options[K, T]) deltaOf(t DeltaType, obj T) (d Delta[K, T], err error) {
	d.Type = t
	d.Key, err = o.callKeyFunc(obj)
	if err != nil {
		return d, fmt.Errorf("deltafifo: expected an object with a key, got %T: %w", obj, err)
	}
	if o.Transform == nil {
		d.Obj = obj
		return d, nil
	}
	transformed, err := o.callTransform(obj)
	if err == nil {
		d.Obj = transformed
		return d, nil
	}
	d.Missing = true
	if o.OnError != nil {
		o.OnError(d.Key, err)
	}
	return d, nil
}

// itemsOf keys and transforms what Replace was given. An object whose transform failed becomes a Keep item. Objects
// without a key are left out; the error joins one for each of them.
func (o *Options[K, T]) itemsOf(objs []T, keep []K) ([]Item[K, T], error) {
	items := make([]Item[K, T], 0, len(objs)+len(keep))
	var errs []error
	for _, obj := range objs {
		d, err := o.deltaOf(Replaced, obj)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		items = append(items, Item[K, T]{Key: d.Key, Obj: d.Obj, Keep: d.Missing})
	}
	for _, key := range keep {
		items = append(items, Item[K, T]{Key: key, Keep: true})
	}
	return items, errors.Join(errs...)
}

// callKeyFunc makes an error of a panic.
func (o *Options[K, T]) callKeyFunc(obj T) (key K, err error) {
	defer guard.Recover("KeyFunc", &err)
	return o.KeyFunc(obj)
}

// callTransform makes an error of a panic.
func (o *Options[K, T]) callTransform(obj T) (transformed T, err error) {
	defer guard.Recover("transform", &err)
	return o.Transform(obj)
}
