package listwatch

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Funcs makes a ListerWatcher of the two functions that a client-go clientset offers, its fake included. Both must be
// safe for concurrent use, and must return when their context ends: List and Watch wait for them. Their objects are
// passed on, not copied.
type Funcs[T Object] struct {
	// ListFunc returns a list object such as *corev1.ServiceList.
	ListFunc func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
	// WatchFunc returns a running watch. Whether its resourceVersions are taken to rise: see FromWatch.
	WatchFunc func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// List implements ListerWatcher. A list without a resourceVersion is ErrNoResourceVersion.
func (f Funcs[T]) List(ctx context.Context, opts metav1.ListOptions) (*List[T], error) {
	from, err := f.ListFunc(ctx, opts)
	if err != nil {
		return nil, err
	}
	m, err := meta.ListAccessor(from)
	if err != nil {
		return nil, fmt.Errorf("ListFunc returned a %T: %w", from, err)
	}
	if m.GetResourceVersion() == "" {
		return nil, ErrNoResourceVersion
	}
	if err := checkItems[T](from); err != nil {
		return nil, err
	}
	list := &List[T]{
		ResourceVersion:    m.GetResourceVersion(),
		Continue:           m.GetContinue(),
		RemainingItemCount: m.GetRemainingItemCount(),
	}
	// WithAlloc: keeping one item does not keep the array of all.
	err = meta.EachListItemWithAlloc(from, func(item runtime.Object) error {
		obj, bad := objectOf[T](item)
		if bad != nil {
			list.Bad = append(list.Bad, bad)
		} else {
			list.Items = append(list.Items, obj)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the items of a %T: %w", from, err)
	}
	return list, nil
}

// Watch implements ListerWatcher. Cancelling ctx ends the stream and stops the watch below it, even if nobody is in
// Next and that watch ignores ctx. The watch's Stop may then be called from another goroutine.
func (f Funcs[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	opts.Watch = true
	w, err := f.WatchFunc(ctx, opts)
	if err != nil {
		return nil, err
	}
	return fromWatch[T](ctx, w), nil
}

// checkItems refuses a list of another kind, which would be an empty one if it has no items. Items that may be of any
// kind are looked at one by one.
func checkItems[T Object](list runtime.Object) error {
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return fmt.Errorf("the items of a %T: %w", list, err)
	}
	item := reflect.TypeOf(items).Elem().Elem()
	if item.Kind() == reflect.Struct {
		item = reflect.PointerTo(item)
	}
	wanted := reflect.TypeFor[T]()
	if item.Implements(reflect.TypeFor[Object]()) && item.Kind() == reflect.Pointer && !item.AssignableTo(wanted) {
		return fmt.Errorf("ListFunc returned a %T, whose items are of type %v, not %v", list, item, wanted)
	}
	return nil
}

// objectOf finds the T in obj.
func objectOf[T Object](obj runtime.Object) (T, *ObjectError) {
	var none T
	if isNilPointer(obj) {
		return none, &ObjectError{Err: fmt.Errorf("the object is a nil %T", obj)}
	}
	typed, ok := obj.(T)
	if !ok {
		bad := &ObjectError{Err: fmt.Errorf("the object is a %T, not a %v", obj, reflect.TypeFor[T]())}
		m, err := meta.Accessor(obj)
		if err == nil && m.GetName() != "" {
			bad.Key = KeyOf(m)
			bad.ResourceVersion = m.GetResourceVersion()
		}
		return none, bad
	}
	if typed.GetName() == "" {
		return none, &ObjectError{ResourceVersion: typed.GetResourceVersion(), Err: errNoName}
	}
	return typed, nil
}

func statusErrorOf(obj runtime.Object) error {
	if isNilPointer(obj) {
		obj = nil
	}
	err := apierrors.FromObject(obj)
	if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return err
	}
	return apierrors.NewInternalError(fmt.Errorf("the watch ended with an ERROR event that cannot be read: %w", err))
}

// isNilPointer finds a nil pointer in the interface, on which most methods would panic.
func isNilPointer(obj runtime.Object) bool {
	v := reflect.ValueOf(obj)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
