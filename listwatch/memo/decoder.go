package memo

import (
	"cmp"
	"reflect"
	"sync"
)

// Options of a Decoder. The zero value is useful.
type Options struct {
	// TableBytes is about how much of the parts that came last is remembered for each type of objects. It counts the
	// parts, the bytes that they were decoded from, and the table itself; there may be twice as much. 0 is 4 MiB.
	TableBytes int
	// OnShare, if not nil, gets each slice, map, pointer and struct before others share it, while decoding waits.
	OnShare func(part any)
}

// Decoder decodes objects that share their parts. Its methods may be called from any goroutine; objects of one type are
// decoded one at a time.
type Decoder struct {
	opts  Options
	types sync.Map // from the reflect.Type of a pointer to its *typeDecoder
}

// New returns a Decoder.
func New(opts Options) *Decoder {
	opts.TableBytes = cmp.Or(opts.TableBytes, 4<<20)
	return &Decoder{opts: opts}
}

// typeDecoder decodes objects of one type.
type typeDecoder struct {
	plan    *plan // nil: objects of this type are left to their own Unmarshal
	onShare func(part any)

	mu    sync.Mutex // protects what follows
	table table
	// unshareable counts parts that must not be shared, and taken the bytes that objects hold. What matters is how much
	// they grow while a part is decoded.
	unshareable, taken int
}

// Unmarshal decodes data into the object, which is reset. If it fails, so would the object's own Unmarshal, with the
// same error, and the object holds what that would leave in it.
func (d *Decoder) Unmarshal(data []byte, into unmarshaler) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer {
		return into.Unmarshal(data)
	}
	v.Elem().SetZero()
	if d.of(v.Type()).decoded(data, v) {
		return nil
	}
	v.Elem().SetZero()
	return into.Unmarshal(data)
}

// of returns the decoder of objects of that type, a pointer.
func (d *Decoder) of(typ reflect.Type) *typeDecoder {
	if known, ok := d.types.Load(typ); ok {
		return known.(*typeDecoder)
	}
	made := &typeDecoder{plan: planOf(typ.Elem()), onShare: d.opts.OnShare}
	if made.plan != nil {
		made.table = newTable(d.opts.TableBytes, made.plan.slots)
	}
	known, _ := d.types.LoadOrStore(typ, made)
	return known.(*typeDecoder)
}

func (d *typeDecoder) decoded(data []byte, object reflect.Value) bool {
	if d.plan == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.table.begin()
	return d.message(d.plan.root, data, placeOf(object))
}
