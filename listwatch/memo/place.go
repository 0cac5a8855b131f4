package memo

import (
	"reflect"
	"unsafe"
)

// All of the package's unsafe code is in this file. Through reflect.Value decoding takes a quarter more CPU time.

// place is where a value of a known type is, or is to be.
type place struct{ p unsafe.Pointer }

// part is what the memo keeps of a field: for a string, slice, pointer or map what the field itself holds, without a
// slice's capacity; for a struct a pointer to a copy.
type part struct {
	p    unsafe.Pointer
	n    int32 // the length of a string or slice
	size int32 // about what it keeps in memory beside its key, in bytes, what it shares with others included; or itsKey
}

// itsKey is the size of a string: in the table it is its own key.
const itsKey = -1

func (p part) isKey() bool { return p.size == itsKey }

// keyOf returns the key of a part that came from data.
func (p part) keyOf(data []byte) string {
	if p.isKey() {
		return p.string()
	}
	return string(data)
}

// sliceHeader is what a slice is made of.
type sliceHeader struct {
	p        unsafe.Pointer
	len, cap int
}

// placeOf returns the place that v, a pointer, points to.
func placeOf(v reflect.Value) place { return place{v.UnsafePointer()} }

func (at place) field(f *field) place { return place{unsafe.Add(at.p, f.offset)} }

func (at place) setString(s string) { *(*string)(at.p) = s }
func (at place) setBytes(b []byte)  { *(*[]byte)(at.p) = b }
func (at place) setBool(b bool)     { *(*bool)(at.p) = b }
func (at place) setInt32(i int32)   { *(*int32)(at.p) = i }
func (at place) setInt64(i int64)   { *(*int64)(at.p) = i }

// setNew has the pointer here point to a new zero value of type typ, and returns that one's place.
func (at place) setNew(typ reflect.Type) place {
	p := reflect.New(typ).UnsafePointer()
	*(*unsafe.Pointer)(at.p) = p
	return place{p}
}

// setSlice puts a slice of n zero values here, with no room behind them, and returns the place of the first.
func (at place) setSlice(typ reflect.Type, n int) place {
	v := reflect.NewAt(typ, at.p).Elem()
	if n == 0 {
		v.Set(reflect.MakeSlice(typ, 0, 0))
	}
	v.Grow(n)
	v.SetLen(n)
	v.SetCap(n)
	return place{v.UnsafePointer()}
}

// index returns the place of an element, if this is that of the first and each is size bytes.
func (at place) index(i int, size uintptr) place { return place{unsafe.Add(at.p, uintptr(i)*size)} }

// value returns what is here. It can be set.
func (at place) value(typ reflect.Type) reflect.Value { return reflect.NewAt(typ, at.p).Elem() }

// string returns the part of a string.
func (p part) string() string { return unsafe.String((*byte)(p.p), int(p.n)) }

func stringPart(s string) part {
	return part{p: unsafe.Pointer(unsafe.StringData(s)), n: int32(len(s)), size: itsKey}
}

// part returns what is to be remembered of what is here. A struct is copied, which takes its size in memory.
func (at place) part(f *field) part {
	switch f.shape {
	case sliceShape:
		h := (*sliceHeader)(at.p)
		return part{p: h.p, n: int32(h.len)}
	case pointerShape:
		return part{p: *(*unsafe.Pointer)(at.p)}
	}
	copied := reflect.New(f.typ)
	copied.Elem().Set(at.value(f.typ))
	return part{p: copied.UnsafePointer()}
}

// setPart puts here what part has returned.
func (at place) setPart(f *field, p part) {
	switch f.shape {
	case sliceShape:
		*(*sliceHeader)(at.p) = sliceHeader{p.p, int(p.n), int(p.n)}
	case pointerShape:
		*(*unsafe.Pointer)(at.p) = p.p
	default:
		at.value(f.typ).Set(reflect.NewAt(f.typ, p.p).Elem())
	}
}
