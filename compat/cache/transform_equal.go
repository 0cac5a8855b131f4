package cache

import (
	"maps"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	typeOfTime     = reflect.TypeFor[time.Time]()
	typeOfMetadata = reflect.TypeFor[metav1.ObjectMeta]()
	typeOfStrings  = reflect.TypeFor[map[string]string]()
)

// equalParts is reflect.DeepEqual for parts of objects of client-go's types, which have no cycles. It takes half of
// the time, which matters because it is called for each object. Both values must be of one type, and addressable.
func equalParts(a, b reflect.Value) bool {
	switch kind := a.Kind(); kind {
	case reflect.String:
		return a.String() == b.String()
	case reflect.Pointer:
		x, y := a.UnsafePointer(), b.UnsafePointer()
		return x == y || x != nil && y != nil && equalParts(a.Elem(), b.Elem())
	case reflect.Slice:
		return equalSlices(a, b)
	case reflect.Struct:
		return equalStructs(a, b)
	case reflect.Map:
		if a.UnsafePointer() == nil || b.UnsafePointer() == nil {
			return a.UnsafePointer() == b.UnsafePointer()
		}
		if a.Type() == typeOfStrings {
			return maps.Equal(*a.Addr().Interface().(*map[string]string), *b.Addr().Interface().(*map[string]string))
		}
	default:
		if kind < reflect.Array { // a number or a bool
			return a.Equal(b)
		}
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

func equalSlices(a, b reflect.Value) bool {
	if a.UnsafePointer() == nil || b.UnsafePointer() == nil {
		return a.UnsafePointer() == b.UnsafePointer()
	}
	n := a.Len()
	if n != b.Len() {
		return false
	}
	if a.Type().Elem().Kind() == reflect.Uint8 {
		return string(a.Bytes()) == string(b.Bytes())
	}
	for i := range n {
		if !equalParts(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func equalStructs(a, b reflect.Value) bool {
	if a.Type() == typeOfTime {
		return *a.Addr().Interface().(*time.Time) == *b.Addr().Interface().(*time.Time)
	}
	for i := range a.NumField() {
		x := a.Field(i)
		if !x.CanSet() { // unexported, as in a Quantity
			return reflect.DeepEqual(a.Interface(), b.Interface())
		}
		if !equalParts(x, b.Field(i)) {
			return false
		}
	}
	return true
}
