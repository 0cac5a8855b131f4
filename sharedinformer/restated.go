package sharedinformer

import (
	"reflect"

	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"glasswatch/deltafifo"
)

// compare notes which objects of a full list are another state under a version that the store knows. Only a server that was
// set back gives a version out again, and its list is not newer than the store: otherwise nothing is compared.
//
// It is called before apply and with no lock held, as it looks into every object: nobody but the consumer writes the store,
// so what it finds there is what apply will.
func (a *applier[T]) compare(batch []delta[T]) {
	if batch[0].Type != deltafifo.ReplacedAll {
		return
	}
	list := batch[0].Bulk
	order, err := resourceversion.CompareResourceVersion(list.ResourceVersion, a.store.ResourceVersion())
	if err != nil || order > 0 {
		return
	}
	for j := range list.Items {
		item := &list.Items[j]
		if item.Keep {
			continue
		}
		old, ok := a.store.GetByKey(item.Key)
		if !ok || old.GetResourceVersion() != item.Obj.GetResourceVersion() || isSameState(reflect.ValueOf(old), reflect.ValueOf(item.Obj)) {
			continue
		}
		if a.restated == nil {
			a.restated = map[key]struct{}{}
		}
		a.restated[item.Key] = struct{}{}
	}
}

var quantityType = reflect.TypeFor[quantity.Quantity]()

// maxLevels is far deeper than any object of an API server. What goes on is a cycle, as of a transform that links parent and
// child, and to follow it to the end of the stack would end the process: no recover stops that.
const maxLevels = 1000

// isSameState is reflect.DeepEqual for two values of one type, except that of a Quantity it does not read the text: a Quantity
// writes that when a handler prints it, which may be now, and says nothing more by it. Values too deep to be looked through
// are not the same: handlers then are told of an update once more than needed.
func isSameState(a, b reflect.Value) bool { return isSameWithin(maxLevels, a, b) }

// isSameWithin is isSameState for values of so many levels; any deeper ones are not the same.
func isSameWithin(levels int, a, b reflect.Value) bool {
	if levels == 0 {
		return false
	}
	levels--
	switch a.Kind() {
	case reflect.Pointer:
		return a.UnsafePointer() == b.UnsafePointer() || !a.IsNil() && !b.IsNil() && isSameWithin(levels, a.Elem(), b.Elem())
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		a, b = a.Elem(), b.Elem()
		return a.Type() == b.Type() && isSameWithin(levels, a, b)
	case reflect.Struct:
		for i := range a.NumField() {
			isText := a.Type() == quantityType && a.Type().Field(i).Name == "s"
			if !isText && !isSameWithin(levels, a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		return a.UnsafePointer() == b.UnsafePointer() || areSameStates(levels, a, b)
	case reflect.Array:
		return areSameStates(levels, a, b)
	case reflect.Map:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		return a.UnsafePointer() == b.UnsafePointer() || areSameEntries(levels, a, b)
	case reflect.Func:
		return a.IsNil() && b.IsNil()
	default:
		return a.Equal(b)
	}
}

func areSameStates(levels int, a, b reflect.Value) bool {
	for i := range a.Len() {
		if !isSameWithin(levels, a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func areSameEntries(levels int, a, b reflect.Value) bool {
	for entries := a.MapRange(); entries.Next(); {
		other := b.MapIndex(entries.Key())
		if !other.IsValid() || !isSameWithin(levels, entries.Value(), other) {
			return false
		}
	}
	return true
}
