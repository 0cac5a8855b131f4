package cache

import (
	"reflect"
)

// transformPrivately calls transform for an object that may share parts with others. The transform gets a deep copy, so
// it may write to all of it.
//
//	shared object ──deep copy──▶ transform ──▶ what is still equal is replaced by the shared part
//
// Only the copy's own struct is written to afterwards. What its fields point to may be the transform's, and so may be
// another object that it returns.
func transformPrivately(transform TransformFunc, shared object) (any, error) {
	private := shared.DeepCopyObject()
	out, err := transform(private)
	if err == nil && out == any(private) {
		reshare(reflect.ValueOf(private).Elem(), reflect.ValueOf(shared).Elem())
	}
	return out, err
}

// reshare replaces what the fields of a struct, and of structs in it, point to by what is equal in shared.
func reshare(private, shared reflect.Value) {
	for i := range private.NumField() {
		to, from := private.Field(i), shared.Field(i)
		switch {
		case !to.CanSet():
		case to.Kind() == reflect.Struct:
			reshare(to, from)
		case to.Kind() == reflect.Map || to.Kind() == reflect.Slice || to.Kind() == reflect.Pointer:
			if !to.IsNil() && equalParts(to, from) {
				to.Set(from)
			}
		}
	}
}
