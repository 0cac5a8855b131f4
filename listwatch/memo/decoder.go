package memo

import (
	"reflect"
	"sync"
)

// DefaultTableBytes is the default of Options.TableBytes.
const DefaultTableBytes = 4 << 20

// Options of a Decoder. The zero value is useful.
type Options struct {
	// TableBytes is about how much of the parts that came last is remembered for each type of objects. It counts the
	// parts, the bytes that they were decoded from, and the table itself; there may be twice as much. 0 is
	// DefaultTableBytes.
	TableBytes int
}

// Decoder decodes objects that share their parts. Its methods may be called from any goroutine; objects of one type are
// decoded one at a time.
type Decoder struct {
	limit int      // of each table
	types sync.Map // from the reflect.Type of a pointer to its *typeDecoder
}

// New returns a Decoder.
func New(opts Options) *Decoder {
	if opts.TableBytes <= 0 {
		opts.TableBytes = DefaultTableBytes
	}
	return &Decoder{limit: opts.TableBytes}
}

// typeDecoder decodes objects of one type.
type typeDecoder struct {
	plan *plan // nil: objects of this type are left to their own Unmarshal

	mu    sync.Mutex // protects what follows
	table table
	// unshareable counts parts that must not be shared, and taken the bytes that objects hold. What matters is how much
	// they grow while a part is decoded.
	unshareable, taken int
}

// Unmarshal decodes data into the object, which is reset. If it fails, so would the object's own Unmarshal, with the same
// error, and the object holds what that would leave in it.
func (d *Decoder) Unmarshal(data []byte, into Message) error {
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
	made := &typeDecoder{plan: planOf(typ.Elem())}
	if made.plan != nil {
		made.table = newTable(d.limit, made.plan.slots)
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
	d.table.objects++
	return d.message(d.plan.root, data, placeOf(object))
}

// Stats say what has become of the parts.
type Stats struct {
	Asked, Found uint64 // parts that were looked for, and that were there
	Parts        int    // in the tables
	Paused       int    // fields that are not looked for at this time
}

// Stats returns the numbers since New, of all types together.
func (d *Decoder) Stats() (all Stats) {
	d.types.Range(func(_, value any) bool {
		value.(*typeDecoder).addTo(&all)
		return true
	})
	return all
}

func (d *typeDecoder) addTo(s *Stats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Asked += d.table.asked
	s.Found += d.table.hits
	for n := range d.table.fields {
		s.Parts += len(d.table.young[n]) + len(d.table.old[n])
		if d.table.fields[n].pause > 0 {
			s.Paused++
		}
	}
}
