package deltafifo

import (
	"errors"
	"fmt"
)

// intake is the door of both queues: it names an object and transforms it. It has no lock and holds no state.
type intake[K comparable, T any] struct {
	keyFunc     func(T) (K, error)
	transformer func(T) (T, error)
	onError     func(key K, err error)
}

func newIntake[K comparable, T any](opts Options[K, T]) intake[K, T] {
	if opts.KeyFunc == nil {
		panic("deltafifo: Options.KeyFunc is required")
	}
	return intake[K, T]{keyFunc: opts.KeyFunc, transformer: opts.Transform, onError: opts.OnError}
}

// key names the object, or returns a *KeyError.
func (in *intake[K, T]) key(obj T) (key K, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = keyError(obj, fmt.Errorf("KeyFunc %w: %v", ErrPanicked, r))
		}
	}()
	key, err = in.keyFunc(obj)
	if err != nil {
		return key, keyError(obj, err)
	}
	return key, nil
}

func keyError[T any](obj T, err error) error {
	return &KeyError{Got: fmt.Sprintf("%T", obj), Err: err}
}

// transform returns the object as it is to be queued. ok is false when Transform failed, which OnError was then told.
func (in *intake[K, T]) transform(key K, obj T) (out T, ok bool) {
	if in.transformer == nil {
		return obj, true
	}
	out, err := in.callTransformer(obj)
	if err == nil {
		return out, true
	}
	if in.onError != nil {
		in.onError(key, err)
	}
	var none T
	return none, false
}

func (in *intake[K, T]) callTransformer(obj T) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("transform %w: %v", ErrPanicked, r)
		}
	}()
	return in.transformer(obj)
}

// complete names and transforms the object of d, which has only a Type and an Obj. Without a version of the object, which
// only a deletion can do without, known is false. The error is a *KeyError.
func (in *intake[K, T]) complete(d *Delta[K, T]) (known bool, err error) {
	key, err := in.key(d.Obj)
	if err != nil {
		return false, err
	}
	obj, ok := in.transform(key, d.Obj)
	// Field by field: to build a Delta and copy it takes longer than all else here.
	d.Key, d.Obj, d.Missing, d.FinalStateUnknown, d.Bulk = key, obj, !ok, false, nil
	return ok || d.Type == Deleted, nil
}

// list turns what Replace was given into items. An object whose transform failed becomes a Keep item, one without a key
// is left out; the error joins a *KeyError for each of those. objs and keep are not retained.
func (in *intake[K, T]) list(objs []T, keep []K) ([]Item[K, T], error) {
	items := make([]Item[K, T], 0, len(objs)+len(keep))
	var errs []error
	for _, obj := range objs {
		key, err := in.key(obj)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		obj, ok := in.transform(key, obj)
		items = append(items, Item[K, T]{Key: key, Obj: obj, Keep: !ok})
	}
	for _, key := range keep {
		items = append(items, Item[K, T]{Key: key, Keep: true})
	}
	return items, errors.Join(errs...)
}
