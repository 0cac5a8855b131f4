package memo

import (
	"fmt"
	"reflect"
	"sync"
)

// DefaultTableBytes is the default of Options.TableBytes.
const DefaultTableBytes = 4 << 20

// Options of a Decoder. The zero value is useful.
type Options struct {
	// TableBytes is about how much of the parts that came last is remembered, in bytes of the parts, of what they were
	// decoded from and of the table itself; up to twice this much. 0 is DefaultTableBytes.
	TableBytes int
}

// Decoder decodes objects of one type that share their parts. Its methods may be called from any goroutine; objects are
// decoded one at a time.
type Decoder struct {
	plan *plan
	typ  reflect.Type // a pointer to the plan's

	limit int // of the table

	mu    sync.Mutex // protects what follows
	table table      // made for the first object: there may be none
	// loose counts what was met that must not be shared, taken what objects hold, in bytes: both are of interest as
	// the difference between before a part and after it.
	loose, taken int
}

// New returns a Decoder of objects of type typ, such as that of a *corev1.Pod; nil if typ is none that can be decoded
// here.
func New(typ reflect.Type, opts Options) *Decoder {
	if typ.Kind() != reflect.Pointer {
		return nil
	}
	p := planOf(typ.Elem())
	if p == nil {
		return nil
	}
	if opts.TableBytes <= 0 {
		opts.TableBytes = DefaultTableBytes
	}
	return &Decoder{plan: p, typ: typ, limit: opts.TableBytes}
}

// Unmarshal decodes data into the object, which is of the Decoder's type and is reset. If it fails, so would the object's
// own Unmarshal, with the same error, and in the object is what that would leave.
func (d *Decoder) Unmarshal(data []byte, into Message) error {
	v := reflect.ValueOf(into)
	if v.Type() != d.typ {
		return fmt.Errorf("memo: a %T for a decoder of %v", into, d.typ)
	}
	v.Elem().SetZero()
	if d.decoded(data, placeOf(v)) {
		return nil
	}
	v.Elem().SetZero()
	return into.Unmarshal(data)
}

func (d *Decoder) decoded(data []byte, at place) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.table.young == nil {
		d.table = newTable(d.limit, d.plan.slots)
	}
	d.table.objects++
	return d.message(d.plan.root, data, at)
}

// Stats say what has become of the parts.
type Stats struct {
	Asked, Found uint64 // parts that were looked for, and that were there
	Parts        int    // in the table
	Paused       int    // fields that are not looked for at this time
}

// Stats returns the numbers since New.
func (d *Decoder) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Stats{Asked: d.table.asked, Found: d.table.hits}
	for n := range d.table.fields {
		s.Parts += len(d.table.young[n]) + len(d.table.old[n])
		if d.table.fields[n].pause > 0 {
			s.Paused++
		}
	}
	return s
}
