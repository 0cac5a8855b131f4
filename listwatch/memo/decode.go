package memo

import "math"

// Methods from here on run under mu. false: this must be left to the generated Unmarshal.

// numbers is a set of field numbers.
type numbers [2]uint64

func (s *numbers) add(n uint64) (isNew bool) {
	word, bit := &s[n>>6], uint64(1)<<(n&63)
	isNew = *word&bit == 0
	*word |= bit
	return isNew
}

// message decodes into a zero value.
func (d *typeDecoder) message(m *message, data []byte, at place) bool {
	if m.custom {
		return d.custom(m, data, at)
	}
	if m.list {
		at.setSlice(m.typ, 0) // one of nothing is not nil
	}
	var seen numbers
	for i := 0; i < len(data); {
		start := i
		var tag uint64
		if tag, i = varint(data, i); i == bad {
			return false
		}
		number, wire := tag>>3, tag&7
		if number == 0 || number > 1<<29-1 {
			return false
		}
		if number >= uint64(len(m.fields)) || m.fields[number].kind == unknownKind {
			if i = skip(data, i, wire); i == bad {
				return false
			}
			continue
		}
		f := &m.fields[number]
		if wire != f.wire || f.merged() && !seen.add(number) {
			return false
		}
		end := bad
		switch f.kind {
		case sliceKind, mapKind:
			end = d.repeated(f, data, start, i, at.field(f))
		default:
			end = d.one(f, data, i, at.field(f))
		}
		if end == bad {
			return false
		}
		i = end
	}
	return true
}

// custom calls the type's own Unmarshal.
func (d *typeDecoder) custom(m *message, data []byte, at place) bool {
	if !m.fixed {
		d.unshareable++
	}
	return at.value(m.typ).Addr().Interface().(unmarshaler).Unmarshal(data) == nil
}

// one decodes a value that is not repeated, at data[i:], and returns the index behind it.
func (d *typeDecoder) one(f *field, data []byte, i int, at place) (end int) {
	if f.wire == wireVarint && f.kind != pointerKind {
		v, end := varint(data, i)
		switch {
		case end == bad:
		case f.kind == boolKind:
			at.setBool(int(v) != 0)
		case f.kind == int32Kind:
			at.setInt32(int32(v))
		default:
			at.setInt64(int64(v))
		}
		return end
	}
	body := data[i:]
	if f.wire == wireBytes {
		body, end = chunk(data, i)
	} else if end = skip(data, i, f.wire); end != bad {
		body = data[i:end]
	}
	if end == bad || !d.value(f, body, at) {
		return bad
	}
	return end
}

// value decodes what is in body: of a string or message without its length.
func (d *typeDecoder) value(f *field, body []byte, at place) bool {
	switch f.kind {
	case stringKind:
		at.setString(d.string(f, body))
		return true
	case messageKind:
		switch {
		case f.msg.custom:
			return d.custom(f.msg, body, at)
		case len(body) == 0 && !f.msg.list:
			return true
		}
	}
	return d.remembered(f, body, at, func() bool { return d.decode(f, body, at) })
}

// string returns a string that is that of the bytes.
func (d *typeDecoder) string(f *field, body []byte) string {
	if len(body) == 0 {
		return ""
	}
	again := false
	if d.table.wanted(f.slot) {
		var p part
		var found bool
		if p, found, again = d.table.get(f.slot, body); found {
			d.taken += int(p.n)
			return p.string()
		}
	}
	s := string(body)
	d.taken += len(s)
	if again {
		d.table.put(f.slot, s, stringPart(s))
	}
	return s
}

// remembered puts the part here that came from the same bytes, or else what decode makes of them, and remembers that.
func (d *typeDecoder) remembered(f *field, body []byte, at place, decode func() bool) bool {
	if !d.table.wanted(f.slot) {
		return decode()
	}
	p, found, again := d.table.get(f.slot, body)
	if found {
		d.taken += int(p.size) // what holds it keeps it, also when it is forgotten here
		at.setPart(f, p)
		return true
	}
	unshareable, taken := d.unshareable, d.taken
	if !decode() {
		return false
	}
	if again && d.unshareable == unshareable {
		if f.shape == structShape {
			d.taken += int(f.typ.Size())
		}
		if d.onShare != nil {
			d.onShare(at.value(f.typ).Interface())
		}
		p = at.part(f)
		p.size = int32(min(d.taken-taken, math.MaxInt32))
		d.table.put(f.slot, string(body), p)
	}
	return true
}

// decode decodes a value that is not in the memo.
func (d *typeDecoder) decode(f *field, body []byte, at place) bool {
	switch f.kind {
	case messageKind:
		return d.message(f.msg, body, at)
	case bytesKind:
		// Empty is not nil: the field is there.
		b := make([]byte, len(body))
		copy(b, body)
		d.taken += len(b)
		at.setBytes(b)
		return true
	case pointerKind:
		d.taken += int(f.elem.typ.Size())
		target := at.setNew(f.elem.typ)
		switch f.elem.kind {
		case messageKind:
			return d.message(f.elem.msg, body, target)
		case stringKind:
			target.setString(d.string(f.elem, body))
			return true
		}
		return d.one(f.elem, body, 0, target) != bad
	}
	return false
}
