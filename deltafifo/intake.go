package deltafifo

import (
	"errors"
	"fmt"
	"slices"

	"glasswatch/internal/guard"
)

func (o *Options[K, T]) check() {
	if o.KeyFunc == nil {
		panic("deltafifo: Options.KeyFunc is required")
	}
}

// keyOf asks the KeyFunc. The error wraps ErrNoKey.
func (o *Options[K, T]) keyOf(obj T) (key K, err error) {
	key, err = o.callKeyFunc(obj)
	if err != nil {
		return key, fmt.Errorf("%w, got %T: %w", ErrNoKey, obj, err)
	}
	return key, nil
}

func (o *Options[K, T]) callKeyFunc(obj T) (key K, err error) {
	defer guard.Recover("KeyFunc", &err)
	return o.KeyFunc(obj)
}

// transformOrReport returns the object after the Transform. If that fails, OnError is told, and the object is not
// readable and zero.
func (o *Options[K, T]) transformOrReport(key K, obj T) (transformed T, readable bool) {
	if o.Transform == nil {
		return obj, true
	}
	transformed, err := o.callTransform(obj)
	if err == nil {
		return transformed, true
	}
	if o.OnError != nil {
		o.OnError(key, err)
	}
	var none T
	return none, false
}

func (o *Options[K, T]) callTransform(obj T) (transformed T, err error) {
	defer guard.Recover("transform", &err)
	return o.Transform(obj)
}

// list turns what Replace was given into items. An object whose transform failed becomes a Keep item. Keep items whose
// key also has an object are left out. So are objects without a key; the error joins one ErrNoKey for each of those.
func (o *Options[K, T]) list(objs []T, keep []K) ([]Item[K, T], error) {
	items := make([]Item[K, T], 0, len(objs)+len(keep))
	var errs []error
	for _, obj := range objs {
		key, err := o.keyOf(obj)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		obj, readable := o.transformOrReport(key, obj)
		items = append(items, Item[K, T]{Key: key, Obj: obj, Keep: !readable})
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
