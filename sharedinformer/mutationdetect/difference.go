package mutationdetect

import (
	"cmp"
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

// firstDifference finds where two values that reflect.DeepEqual tells apart differ: the first field, element or map
// entry, as deep as it goes.
func firstDifference(was, is any) difference {
	d := find("", reflect.ValueOf(was), reflect.ValueOf(is))
	if d == nil { // such as two functions
		return difference{was: was, is: is}
	}
	d.path = strings.TrimPrefix(d.path, ".")
	return *d
}

// find returns the first difference of two values, nil if they are equal. An invalid value is one that is not there.
func find(path string, was, is reflect.Value) *difference {
	here := &difference{path, printable(was), printable(is)}
	switch {
	case !was.IsValid() && !is.IsValid():
		return nil
	case !was.IsValid() || !is.IsValid() || was.Type() != is.Type():
		return here
	}
	var first *difference // of the parts
	switch was.Kind() {
	case reflect.Pointer, reflect.Interface:
		first = find(path, was.Elem(), is.Elem())
	case reflect.Struct:
		for i := 0; i < was.NumField() && first == nil; i++ {
			first = find(path+"."+was.Type().Field(i).Name, was.Field(i), is.Field(i))
		}
	case reflect.Slice, reflect.Array:
		if was.Len() != is.Len() {
			return here
		}
		for i := 0; i < was.Len() && first == nil; i++ {
			first = find(fmt.Sprintf("%s[%d]", path, i), was.Index(i), is.Index(i))
		}
	case reflect.Map:
		keys := append(was.MapKeys(), is.MapKeys()...) // most of them twice
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for i := 0; i < len(keys) && first == nil; i++ {
			first = find(fmt.Sprintf("%s[%#v]", path, keys[i]), was.MapIndex(keys[i]), is.MapIndex(keys[i]))
		}
	default:
		if !was.Comparable() || !was.Equal(is) {
			return here
		}
	}
	if k := was.Kind(); first == nil && (k == reflect.Map || k == reflect.Slice) && was.IsNil() != is.IsNil() {
		return here // one is nil, one is empty
	}
	return first
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
