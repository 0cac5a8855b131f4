package transform

import (
	"hash/maphash"
	"math"
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

var (
	quantityType = reflect.TypeFor[resource.Quantity]()
	timeType     = reflect.TypeFor[time.Time]()
)

// maxDepth is how deep parts are looked for. Objects are not that deep unless they lead back to themselves.
const maxDepth = 200

// part is what walk finds out about a value.
type part struct {
	hash uint64
	// fixed: nothing in it writes itself, and all of it was looked at; so it may be shared.
	fixed bool
}

func mix(h, x uint64) uint64 {
	h = (h ^ x) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}

// walk replaces the parts of v, from the innermost outwards, by equal ones that were seen before, and then v itself. v is
// settable unless it is of a struct's unexported field; those are only looked at.
func (s *Sharer) walk(v reflect.Value, depth int) part {
	if depth > maxDepth {
		return part{}
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return part{1, true}
		}
		return part{2, true}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return part{mix(3, uint64(v.Int())), true}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return part{mix(4, v.Uint()), true}
	case reflect.Float32, reflect.Float64:
		return part{mix(5, math.Float64bits(v.Float())), true}
	case reflect.String:
		return s.walkString(v)
	case reflect.Struct:
		return s.walkStruct(v, depth)
	case reflect.Array:
		return s.walkElements(v, depth)
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		if v.IsNil() {
			return part{6, true}
		}
		if !v.CanSet() {
			return part{}
		}
		return s.walkReference(v, depth)
	}
	return part{} // channels and functions
}

func (s *Sharer) walkString(v reflect.Value) part {
	str := v.String()
	if v.CanSet() {
		if known := s.intern(str); unsafe.StringData(known) != unsafe.StringData(str) {
			v.SetString(known)
		}
	}
	return part{mix(7, maphash.String(s.seed, str)), true}
}

func (s *Sharer) walkStruct(v reflect.Value, depth int) part {
	switch v.Type() {
	case timeType:
		if !v.CanInterface() {
			return part{}
		}
		return part{mix(8, uint64(v.Interface().(time.Time).UnixNano())), true}
	case quantityType:
		// Reached by a pointer it writes itself. In a map it cannot, see walkMapValue.
		return part{}
	}
	p := part{9, true}
	for i := range v.NumField() {
		f := s.walk(v.Field(i), depth+1)
		p.hash, p.fixed = mix(p.hash, f.hash), p.fixed && f.fixed
	}
	return p
}

func (s *Sharer) walkElements(v reflect.Value, depth int) part {
	p := part{mix(10, uint64(v.Len())), true}
	for i := range v.Len() {
		e := s.walk(v.Index(i), depth+1)
		p.hash, p.fixed = mix(p.hash, e.hash), p.fixed && e.fixed
	}
	return p
}

// walkReference shares what v refers to. v is settable and not nil.
func (s *Sharer) walkReference(v reflect.Value, depth int) (p part) {
	size := 0
	switch v.Kind() {
	case reflect.Interface:
		return s.walkInterface(v, depth)
	case reflect.Pointer:
		p = s.walk(v.Elem(), depth+1)
		p.hash, size = mix(11, p.hash), int(v.Elem().Type().Size())
	case reflect.Map:
		p = s.walkMap(v, depth)
		size = 48 + v.Len()*int(v.Type().Key().Size()+v.Type().Elem().Size())
	case reflect.Slice:
		size = v.Len() * int(v.Type().Elem().Size())
		if v.Type().Elem().Kind() == reflect.Uint8 {
			p = part{mix(12, maphash.Bytes(s.seed, v.Bytes())), true}
		} else {
			p = s.walkElements(v, depth)
		}
	}
	if !p.fixed {
		return p
	}
	known := s.canonical(v, p.hash, size)
	if known.UnsafePointer() != v.UnsafePointer() || v.Kind() == reflect.Slice && known.Cap() != v.Cap() {
		v.Set(known)
	}
	return p
}

// walkInterface shares the maps, slices and strings of unstructured objects; whatever else is behind an interface is only
// looked at, if it is a number or a truth value.
func (s *Sharer) walkInterface(v reflect.Value, depth int) part {
	inner := reflect.New(v.Elem().Type()).Elem()
	inner.Set(v.Elem())
	p := s.walk(inner, depth+1)
	p.hash = mix(p.hash, uint64(inner.Kind())) // int64(1) is not float64(1)
	switch inner.Kind() {
	case reflect.Map, reflect.Slice:
		if inner.UnsafePointer() != v.Elem().UnsafePointer() || inner.Kind() == reflect.Slice && inner.Cap() != v.Elem().Cap() {
			v.Set(inner)
		}
	case reflect.String:
		if unsafe.StringData(inner.String()) != unsafe.StringData(v.Elem().String()) {
			v.Set(inner)
		}
	case reflect.Pointer, reflect.Struct, reflect.Array:
		return part{}
	}
	return p
}

// walkMap shares the keys and values of a map. Its hash does not depend on the order.
func (s *Sharer) walkMap(v reflect.Value, depth int) part {
	p := part{mix(13, uint64(v.Len())), true}
	key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	var sum uint64
	for it := v.MapRange(); it.Next(); {
		key.SetIterKey(it)
		value.SetIterValue(it)
		before, beforeValue := identity(key), identity(value)
		k := s.walk(key, depth+1)
		e := s.walkMapValue(value, depth+1)
		sum += mix(k.hash, e.hash)
		p.fixed = p.fixed && k.fixed && e.fixed
		// Setting an entry that is there is allowed while iterating, and takes over the key's string, too.
		if identity(key) != before || identity(value) != beforeValue || holdsOthers(value) {
			v.SetMapIndex(key, value)
		}
	}
	p.hash = mix(p.hash, sum)
	return p
}

// holdsOthers: walk may have changed something within v that identity does not show.
func holdsOthers(v reflect.Value) bool {
	return v.Kind() == reflect.Array || v.Kind() == reflect.Struct && v.Type() != quantityType
}

// walkMapValue is walk for the copy of a value of a map. A Quantity in a map is fixed: whoever prints it prints a copy.
func (s *Sharer) walkMapValue(v reflect.Value, depth int) part {
	if v.Type() != quantityType {
		return s.walk(v, depth)
	}
	// Beyond 64 bits its digits are behind a pointer, through which arithmetic on a copy writes.
	small := v.FieldByName("d").FieldByName("Dec").IsNil()
	copied := v.Interface().(resource.Quantity)
	return part{mix(14, maphash.String(s.seed, copied.String())), small}
}

// identity tells whether walk has put something else in the place of v.
func identity(v reflect.Value) unsafe.Pointer {
	if v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return unsafe.Pointer(unsafe.StringData(v.String()))
	case reflect.Pointer, reflect.Map, reflect.Slice:
		return v.UnsafePointer()
	}
	return nil
}
