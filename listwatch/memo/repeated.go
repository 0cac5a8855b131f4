package memo

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
)

// repeated decodes the entries of a slice or map, the first of which has its tag at data[start:] and its value at
// data[i:], and returns the index behind the last.
func (d *typeDecoder) repeated(f *field, data []byte, start, i int, at place) (end int) {
	end, count := run(data, start, i, f.wire)
	if end == bad {
		return bad
	}
	entries, tag := data[start:end], i-start
	ok := d.remembered(f, entries, at, func() bool {
		if f.kind == mapKind {
			return d.mapEntries(f, entries, tag, count, at)
		}
		return d.sliceEntries(f, entries, tag, count, at)
	})
	if !ok {
		return bad
	}
	return end
}

// sliceEntries decodes count entries, before the value of each of which is a tag.
func (d *typeDecoder) sliceEntries(f *field, entries []byte, tag, count int, at place) bool {
	size := f.elem.typ.Size()
	d.taken += count * int(size)
	first := at.setSlice(f.typ, count)
	i := 0
	for n := range count {
		if i = d.one(f.elem, entries, i+tag, first.index(n, size)); i == bad {
			return false
		}
	}
	return true
}

// mapEntryBytes is about what an entry of a map takes beside key and value.
const mapEntryBytes = 16

// mapEntries decodes count entries into a new map.
func (d *typeDecoder) mapEntries(f *field, entries []byte, tag, count int, at place) bool {
	d.taken += 48 + count*(mapEntryBytes+int(f.typ.Key().Size()+f.elem.typ.Size()))
	v := at.value(f.typ)
	v.Set(reflect.MakeMapWithSize(f.typ, count))
	strings, isStrings := v.Interface().(map[string]string)
	for i := 0; i < len(entries); {
		entry, end := chunk(entries, i+tag)
		if end == bad {
			return false
		}
		i = end
		key, value, ok := keyAndValue(entry)
		switch {
		case !ok:
			return false
		case isStrings:
			strings[d.string(f.key, key)] = d.string(f.elem, value)
		case !d.mapEntry(f, v, key, value):
			return false
		}
	}
	return true
}

func (d *typeDecoder) mapEntry(f *field, m reflect.Value, key, value []byte) bool {
	k, e := reflect.New(f.typ.Key()).Elem(), reflect.New(f.elem.typ)
	k.SetString(d.string(f.key, key))
	unshareable := d.unshareable
	if !d.value(f.elem, value, placeOf(e)) {
		return false
	}
	if quantity, ok := e.Interface().(*resource.Quantity); ok && copiesAlone(quantity) {
		d.unshareable = unshareable // nobody can write to it in a map, and a copy is independent
	}
	m.SetMapIndex(k, e.Elem())
	return true
}

// copiesAlone reports whether arithmetic on a copy leaves the quantity alone. Beyond 64 bits the digits are behind a
// pointer, which a copy shares. Negating a copy shows it, but for zero: only AsInt64 tells whether it has such digits.
func copiesAlone(quantity *resource.Quantity) bool {
	before, probe := quantity.Sign(), *quantity
	probe.Neg()
	after := quantity.Sign()
	if after != before {
		probe.Neg() // puts right what the pointer led to
	}
	_, short := quantity.AsInt64()
	return after == before && (before != 0 || short)
}

// keyAndValue takes an entry of a map apart: key and value, once each and in this order, are all that the generated
// Marshal writes.
func keyAndValue(entry []byte) (key, value []byte, ok bool) {
	const keyTag, valueTag = 1<<3 | wireBytes, 2<<3 | wireBytes
	if len(entry) == 0 || entry[0] != keyTag {
		return nil, nil, false
	}
	key, i := chunk(entry, 1)
	if i == bad || i >= len(entry) || entry[i] != valueTag {
		return nil, nil, false
	}
	value, i = chunk(entry, i+1)
	return key, value, i == len(entry)
}
