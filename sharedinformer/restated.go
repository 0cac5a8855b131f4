package sharedinformer

import (
	"reflect"

	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"glasswatch/deltafifo"
)

// findRestated notes which objects of a full list are another state under a version that the store knows. Only a server
// that was set back gives a version out again, and then its list is not newer than the store.
//
// It looks into every object, so no lock is held. Nobody but the consumer writes the store: apply will find the same.
func (a *applier[T]) findRestated(list *deltafifo.Bulk[key, T]) {
	order, err := resourceversion.CompareResourceVersion(list.ResourceVersion, a.store.ResourceVersion())
	if err != nil || order > 0 {
		return
	}
	for j := range list.Items {
		item := &list.Items[j]
		old, ok := a.store.GetByKey(item.Key)
		if item.Keep || !ok || old.GetResourceVersion() != item.Obj.GetResourceVersion() {
			continue
		}
		if !isSameState(reflect.ValueOf(old), reflect.ValueOf(item.Obj), maxLevels) {
			if a.restated == nil {
				a.restated = map[key]bool{}
			}
			a.restated[item.Key] = true
		}
	}
}

// maxLevels is deeper than any object of an API server. What goes on is a cycle, as of a transform that links parent
// and child: to follow it would overflow the stack.
const maxLevels = 1000

// isSameState is reflect.DeepEqual for two values of one type, down to so many levels: deeper ones count as different.
// A Quantity of a is compared by its value and format, as it writes its text when a handler prints it, which may be
// now.
func isSameState(a, b reflect.Value, levels int) bool {
	if levels == 0 {
		return false
	}
	levels--
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		if a.Kind() == reflect.Pointer && a.UnsafePointer() == b.UnsafePointer() {
			return true
		}
		a, b = a.Elem(), b.Elem()
		return a.Type() == b.Type() && isSameState(a, b, levels)
	case reflect.Struct:
		if q, ok := quantityAt(a); ok {
			other, _ := quantityAt(b)
			return q.Cmp(*other) == 0 && q.Format == other.Format
		}
		for i := range a.NumField() {
			if !isSameState(a.Field(i), b.Field(i), levels) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Map:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		return a.UnsafePointer() == b.UnsafePointer() || areSameElements(a, b, levels)
	case reflect.Array:
		return areSameElements(a, b, levels)
	case reflect.Func:
		return a.IsNil() && b.IsNil()
	}
	return a.Equal(b)
}

// areSameElements compares arrays, slices or maps of one length.
func areSameElements(a, b reflect.Value, levels int) bool {
	if a.Kind() == reflect.Map {
		for entries := a.MapRange(); entries.Next(); {
			other := b.MapIndex(entries.Key())
			if !other.IsValid() || !isSameState(entries.Value(), other, levels) {
				return false
			}
		}
		return true
	}
	for i := range a.Len() {
		if !isSameState(a.Index(i), b.Index(i), levels) {
			return false
		}
	}
	return true
}

// quantityAt returns the Quantity that v is, without copying one that others may write. One in a map is a copy already.
func quantityAt(v reflect.Value) (*quantity.Quantity, bool) {
	if v.Type() != reflect.TypeFor[quantity.Quantity]() || !v.CanInterface() {
		return nil, false
	}
	if v.CanAddr() {
		return v.Addr().Interface().(*quantity.Quantity), true
	}
	q := v.Interface().(quantity.Quantity)
	return &q, true
}
