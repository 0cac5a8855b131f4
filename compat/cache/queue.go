package cache

import (
	"errors"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"glasswatch/deltafifo"
)

// This file has the common parts of this package's queues: keys, transforms and error reports. The layer's queues get
// objects that have their keys and are transformed already.

// queued is an object in the layer's queues.
type queued struct {
	key string
	obj any
}

func (q queued) keyOf() (string, error) { return q.key, nil }

// front keys and transforms incoming objects.
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

// transformed returns obj after the transform. Objects in tombstones were transformed before. A panic of the transform
// is an error, of which the panic handlers are told.
func (f *front) transformed(obj any) (any, error) {
	if _, ok := obj.(DeletedFinalStateUnknown); ok || f.transform == nil {
		return obj, nil
	}
	return callTransform(f.transform, obj)
}

// take keys and transforms obj.
func (f *front) take(obj any) (queued, error) {
	q, err := f.named(obj)
	if err != nil {
		return q, err
	}
	q.obj, err = f.transformed(obj)
	return q, err
}

// takeList takes the objects of a list. Objects without a key are left out, with an error. If the transform fails on an
// object, that is reported, and keep gets its key.
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
		return objs, keep, errs[0] // a KeyError, for callers that assert its type
	}
	return objs, keep, errors.Join(errs...)
}

func (f *front) report(err error, message, key string) {
	utilruntime.HandleErrorWithLogger(f.logger, err, message, "queue", f.name, "key", key)
}

// known is the consumer's store for the layer's queue. A key whose lookup fails counts as unknown.
type known struct {
	KeyListerGetter
	front *front
}

// GetByKey implements deltafifo.KnownObjects.
func (k known) GetByKey(key string) (queued, bool) {
	obj, exists, err := k.KeyListerGetter.GetByKey(key)
	if err != nil {
		k.front.report(err, "The known objects could not be read", key)
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
