package memo

import (
	"reflect"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Message is what the generated protobuf code of a type offers.
type Message = interface {
	Unmarshal(data []byte) error
}

// message says how a type is decoded.
type message struct {
	typ    reflect.Type
	fields []field // by number
	list   bool    // a slice with a name: its only field is itself
	// custom: only its own Unmarshal can decode it. fixed: and the result may be shared.
	custom, fixed bool
}

// kind says what is done with the bytes of a field.
type kind uint8

const (
	unknownKind kind = iota
	stringKind
	bytesKind
	boolKind
	int32Kind
	int64Kind
	messageKind
	pointerKind // to a field of another kind
	sliceKind   // of such
	mapKind
)

// shape says what a part of a field is: see place.part.
type shape uint8

const (
	structShape shape = iota
	sliceShape        // strings, too, as far as reading goes
	pointerShape
)

// field says how a field is decoded.
type field struct {
	kind   kind
	shape  shape
	wire   uint64
	offset uintptr
	typ    reflect.Type
	elem   *field   // of a pointer, a slice, the values of a map; offset 0
	key    *field   // of a map: only its slot counts
	msg    *message // of a message
	slot   int      // where the memo counts and keeps its parts
}

// merged: if it comes twice, the second value is merged with the first.
func (f *field) merged() bool {
	return f.kind == sliceKind || f.kind == mapKind || f.kind == messageKind || f.kind == pointerKind && f.elem.kind == messageKind
}

// maxNumber is the largest field number of a type that is decoded here, so that a set of them is small.
const maxNumber = 127

// plan is how a type and all it holds is decoded. It is only read.
type plan struct {
	root  *message
	slots int
}

var plans sync.Map // of plan by reflect.Type

// planOf returns the plan of a struct, nil if there is none.
func planOf(typ reflect.Type) *plan {
	if known, ok := plans.Load(typ); ok {
		return known.(*plan)
	}
	b := planner{messages: map[reflect.Type]*message{}}
	p := &plan{root: b.message(typ)}
	p.slots = b.slots
	if p.root.custom {
		p = nil
	}
	known, _ := plans.LoadOrStore(typ, p)
	return known.(*plan)
}

type planner struct {
	messages map[reflect.Type]*message // a type may hold itself
	slots    int
}

var (
	messageType  = reflect.TypeFor[Message]()
	typeMetaType = reflect.TypeFor[metav1.TypeMeta]()
	rawType      = reflect.TypeFor[runtime.RawExtension]()
)

// message never returns nil: what cannot be decoded here, is custom.
func (b *planner) message(typ reflect.Type) *message {
	if known := b.messages[typ]; known != nil {
		return known
	}
	m := &message{typ: typ}
	b.messages[typ] = m
	ok := trusted(typ)
	if ok && typ.Kind() == reflect.Slice {
		m.fields, m.list = make([]field, 2), true
		m.fields[1], ok = b.field(reflect.SliceOf(typ.Elem()))
	} else if ok {
		ok = b.fields(m)
	}
	if !ok {
		m.fields, m.custom = nil, true
		switch typ {
		case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
			m.fixed = true
		}
	}
	return m
}

// trusted: the tags of a type say what its Unmarshal does. The tests go through all of these.
func trusted(typ reflect.Type) bool {
	pkg := typ.PkgPath()
	return (strings.HasPrefix(pkg, "k8s.io/api/") || strings.HasPrefix(pkg, "k8s.io/apimachinery/")) &&
		reflect.PointerTo(typ).Implements(messageType)
}

// fields reports whether all fields of a struct are understood.
func (b *planner) fields(m *message) bool {
	if m.typ.Kind() != reflect.Struct {
		return false
	}
	for i := range m.typ.NumField() {
		sf := m.typ.Field(i)
		tag, ok := sf.Tag.Lookup("protobuf")
		if !ok && (sf.Type == typeMetaType || m.typ == rawType && sf.Name == "Object") {
			continue // not on the wire
		}
		parts := strings.Split(tag, ",")
		if len(parts) < 2 {
			return false
		}
		number, err := strconv.Atoi(parts[1])
		if err != nil || number < 1 || number > maxNumber {
			return false
		}
		f, ok := b.field(sf.Type)
		if !ok {
			return false
		}
		f.offset = sf.Offset
		for len(m.fields) <= number {
			m.fields = append(m.fields, field{})
		}
		m.fields[number] = f
	}
	return true
}

// field reports whether a type can be that of a field. The wire type in a tag is not always the one on the wire; that follows
// from the Go type.
func (b *planner) field(typ reflect.Type) (f field, ok bool) {
	f = field{typ: typ, wire: wireBytes, slot: b.slots}
	b.slots++
	switch {
	case reflect.PointerTo(typ).Implements(messageType):
		f.kind, f.msg = messageKind, b.message(typ)
		return f, true
	case typ.Kind() == reflect.Pointer:
		f.kind, f.shape = pointerKind, pointerShape
		return b.withElem(f, typ.Elem(), func(k kind) bool { return k <= messageKind && k != bytesKind })
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Uint8:
		f.kind, f.shape = bytesKind, sliceShape
		return f, true
	case typ.Kind() == reflect.Slice:
		f.kind, f.shape = sliceKind, sliceShape
		return b.withElem(f, typ.Elem(), func(k kind) bool { return k <= messageKind && k != bytesKind })
	case typ.Kind() == reflect.Map && typ.Key().Kind() == reflect.String:
		f.kind, f.shape, f.key = mapKind, pointerShape, &field{slot: b.slots}
		b.slots++
		return b.withElem(f, typ.Elem(), func(k kind) bool { return k == stringKind || k == bytesKind || k == messageKind })
	}
	return scalar(f)
}

func scalar(f field) (field, bool) {
	switch f.typ.Kind() {
	case reflect.String:
		f.kind, f.shape = stringKind, sliceShape
		return f, true
	case reflect.Bool:
		f.kind = boolKind
	case reflect.Int32:
		f.kind = int32Kind
	case reflect.Int64:
		f.kind = int64Kind
	default:
		return f, false
	}
	f.wire = wireVarint
	return f, true
}

func (b *planner) withElem(f field, elem reflect.Type, allowed func(kind) bool) (field, bool) {
	e, ok := b.field(elem)
	f.elem = &e
	if f.kind != mapKind {
		f.wire = e.wire
	}
	return f, ok && allowed(e.kind)
}
