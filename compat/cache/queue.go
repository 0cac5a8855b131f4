package cache

import (
	"errors"
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"glasswatch/deltafifo"
)

// What the queues of this package have in common: how they name, transform and report objects. Objects are named and
// transformed here, so that the layer's queues need to know of neither.

// queued is an object as the layer's queues hold it.
type queued struct {
	key string
	obj any
}

func (q queued) keyOf() (string, error) { return q.key, nil }

// front is the side of a queue that objects come in by.
type front struct {
	name      string
	logger    klog.Logger
	keyFunc   KeyFunc
	transform TransformFunc
}

func newFront(name string, logger *klog.Logger, keyFunc KeyFunc, transform TransformFunc) front {
	f := front{name: name, logger: klog.Background(), keyFunc: keyFunc, transform: transform}
	if logger != nil {
		f.logger = *logger
	}
	f.logger = klog.LoggerWithName(f.logger, name)
	if keyFunc == nil {
		f.keyFunc = MetaNamespaceKeyFunc
	}
	return f
}

// keyOf names an object, a tombstone, or the object of a delta or of the newest of some.
func (f *front) keyOf(obj any) (string, error) {
	if ds, ok := obj.(Deltas); ok {
		if len(ds) == 0 {
			return "", KeyError{Obj: obj, Err: ErrZeroLengthDeltasObject}
		}
		obj = ds[len(ds)-1]
	}
	if d, ok := obj.(Delta); ok {
		obj = d.Object
	}
	if d, ok := obj.(DeletedFinalStateUnknown); ok {
		return d.Key, nil
	}
	return f.keyFunc(obj)
}

func (f *front) named(obj any) (queued, error) {
	key, err := f.keyOf(obj)
	if err != nil {
		return queued{}, KeyError{Obj: obj, Err: err}
	}
	return queued{key: key, obj: obj}, nil
}

// transformed returns obj as it is to be queued. Tombstones carry objects that were transformed before. A panic of the
// transform is an error.
func (f *front) transformed(obj any) (out any, err error) {
	if _, ok := obj.(DeletedFinalStateUnknown); ok || f.transform == nil {
		return obj, nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("transform panicked: %v", r)
		}
	}()
	return f.transform(obj)
}

// take is named and transformed.
func (f *front) take(obj any) (queued, error) {
	q, err := f.named(obj)
	if err != nil {
		return q, err
	}
	q.obj, err = f.transformed(obj)
	return q, err
}

// takeList takes the objects of a list. Objects without a key are left out, and the error says so; the keys of those that
// the transform failed on are kept, and reported.
func (f *front) takeList(list []any) (objs []queued, keep []string, err error) {
	var errs []error
	objs = make([]queued, 0, len(list))
	for _, obj := range list {
		q, err := f.named(obj)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if q.obj, err = f.transformed(obj); err != nil {
			f.report(err, "The transform failed, the object's last good version stays", q.key)
			keep = append(keep, q.key)
			continue
		}
		objs = append(objs, q)
	}
	if len(errs) == 1 {
		return objs, keep, errs[0] // a KeyError, for those who assert it
	}
	return objs, keep, errors.Join(errs...)
}

func (f *front) report(err error, message, key string) {
	utilruntime.HandleErrorWithLogger(f.logger, err, message, "queue", f.name, "key", key)
}

// known shows the consumer's store to the layer's queue. A key whose lookup fails counts as unknown.
type known struct {
	KeyListerGetter
	front *front
}

// GetByKey implements deltafifo.KnownObjects.
func (k known) GetByKey(key string) (queued, bool) {
	obj, exists, err := k.KeyListerGetter.GetByKey(key)
	if err != nil {
		k.front.report(err, "The known objects could not be asked", key)
		return queued{}, false
	}
	return queued{key: key, obj: obj}, exists
}

// closedErr turns the layer's error for an empty, closed queue into client-go's.
func closedErr(err error) error {
	if errors.Is(err, deltafifo.ErrClosed) {
		return ErrFIFOClosed
	}
	return err
}
