package deltafifo

import (
	"errors"
	"fmt"
)

// intake keys and transforms incoming objects, for both queues. It has no lock and no state.
type intake[K comparable, T any] struct {
	keyFunc   func(T) (K, error)
	transform func(T) (T, error)
	onError   func(key K, err error)
}

func newIntake[K comparable, T any](opts Options[K, T]) intake[K, T] {
	if opts.KeyFunc == nil {
		panic("deltafifo: Options.KeyFunc is required")
	}
	return intake[K, T]{keyFunc: opts.KeyFunc, transform: opts.Transform, onError: opts.OnError}
}

// complete keys and transforms the object of d, which has only a Type and an Obj. ok: d is to be queued. Only a deletion
// is queued when the transform failed; it is Missing its object. The error wraps ErrNoKey.
func (in *intake[K, T]) complete(d *Delta[K, T]) (ok bool, err error) {
	key, obj, ok, err := in.take(d.Obj)
	if err != nil {
		return false, err
	}
	// Field by field: building a Delta and copying it takes longer than all else here.
	d.Key, d.Obj, d.Missing, d.FinalStateUnknown, d.Bulk = key, obj, !ok, false, nil
	return ok || d.Type == Deleted, nil
}

// list turns what Replace was given into items. An object whose transform failed becomes a Keep item. One without a key
// is left out; the error joins one ErrNoKey for each of those. objs and keep are not retained.
func (in *intake[K, T]) list(objs []T, keep []K) ([]Item[K, T], error) {
	items := make([]Item[K, T], 0, len(objs)+len(keep))
	var errs []error
	for _, obj := range objs {
		key, obj, ok, err := in.take(obj)
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

// take keys and transforms one object. The error wraps ErrNoKey. When the transform fails, OnError is told, ok is false
// and out is the zero value.
func (in *intake[K, T]) take(obj T) (key K, out T, ok bool, err error) {
	key, err = recovered(in.keyFunc, obj, "KeyFunc")
	if err != nil {
		return key, out, false, fmt.Errorf("%w, got %T: %w", ErrNoKey, obj, err)
	}
	if in.transform == nil {
		return key, obj, true, nil
	}
	out, err = recovered(in.transform, obj, "transform")
	if err == nil {
		return key, out, true, nil
	}
	if in.onError != nil {
		in.onError(key, err)
	}
	var none T
	return key, none, false, nil
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
