package mutationdetect

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// difference is a place where two values differ.
type difference struct {
	path    string
	was, is any
}

// firstDifference finds where two values that reflect.DeepEqual tells apart differ: the first field, element or map entry,
// as deep as it goes.
func firstDifference(was, is any) difference {
	path, a, b := descend("", reflect.ValueOf(was), reflect.ValueOf(is))
	return difference{strings.TrimPrefix(path, "."), printable(a), printable(b)}
}

// descend goes into the first part of a and b that differs. a and b differ.
func descend(path string, a, b reflect.Value) (string, reflect.Value, reflect.Value) {
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return path, a, b
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !a.IsNil() && !b.IsNil() {
			return descend(path, a.Elem(), b.Elem())
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return descend(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return path, a, b
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return descend(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))
			}
		}
	case reflect.Map:
		for _, k := range sortedKeys(a, b) {
			x, y := a.MapIndex(k), b.MapIndex(k)
			if !equal(x, y) {
				return descend(fmt.Sprintf("%s[%#v]", path, k), x, y)
			}
		}
	}
	return path, a, b
}

// equal is reflect.DeepEqual for parts of a value, unexported fields among them, which cannot be taken out as they are.
func equal(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	if a.CanInterface() && b.CanInterface() {
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
	return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b)
}

// sortedKeys returns the keys of two maps, so that the first difference is the same each time.
func sortedKeys(a, b reflect.Value) []reflect.Value {
	keys := a.MapKeys()
	for _, k := range b.MapKeys() {
		if !a.MapIndex(k).IsValid() {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
	return keys
}

// printable is what v holds; nil if it is not there.
func printable(v reflect.Value) any {
	switch {
	case !v.IsValid():
		return nil
	case v.CanInterface():
		return v.Interface()
	}
	return fmt.Sprintf("%#v", v)
}
