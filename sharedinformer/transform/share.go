package transform

import (
	"hash/maphash"
	"reflect"
	"sync"
)

// DefaultTableBytes is the default of SharerOptions.TableBytes.
const DefaultTableBytes = 8 << 20

// SharerOptions bound what a Sharer remembers. The zero value is useful.
type SharerOptions struct {
	// TableBytes is about how much of the parts that came last is remembered, in bytes of the parts and of the table
	// itself, up to twice this much. 0 is DefaultTableBytes. A part larger than an eighth of it is not shared.
	TableBytes int
}

// Sharer finds the parts of objects that it has seen before. Make one with [NewSharer]. Its methods may be called from any
// goroutine.
//
//	part ──hash──▶ [ young ] ──not there──▶ [ old ] ──not there──▶ is remembered
//	                   ▲ found: moves to young │
//	                   └───────────────────────┘     when young is full it becomes old, and old is forgotten
type Sharer struct {
	seed  maphash.Seed
	limit int

	mu         sync.Mutex // protects what follows, and what of objects is looked at meanwhile
	young, old map[partKey]reflect.Value
	strings    map[string]string // young strings
	oldStrings map[string]string
	size       int // of young and strings, in bytes
}

// partKey finds a part that is likely equal.
type partKey struct {
	typ  reflect.Type
	hash uint64
}

// NewSharer returns a Sharer that has seen nothing.
func NewSharer(opts SharerOptions) *Sharer {
	if opts.TableBytes <= 0 {
		opts.TableBytes = DefaultTableBytes
	}
	s := &Sharer{seed: maphash.MakeSeed(), limit: opts.TableBytes}
	s.rotateLocked()
	s.rotateLocked()
	return s
}

// Share returns a transform that calls before, as [Chain] does, and then shares the parts of the object with those of
// other objects that went through it. T is a pointer, such as *corev1.Pod or *unstructured.Unstructured, and stays what
// it was: what it leads to is replaced. Share has a [Sharer] of its own; for informers that share one, see [ShareWith].
func Share[T any](before ...func(T) (T, error)) func(T) (T, error) {
	return ShareWith(NewSharer(SharerOptions{}), before...)
}

// ShareWith is [Share] with a Sharer that may serve other informers, too.
func ShareWith[T any](s *Sharer, before ...func(T) (T, error)) func(T) (T, error) {
	first := Chain(before...)
	return func(obj T) (T, error) {
		obj, err := first(obj)
		if err == nil {
			s.object(reflect.ValueOf(obj))
		}
		return obj, err
	}
}

// object shares the parts of what v points to.
func (s *Sharer) object(v reflect.Value) {
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.walk(v.Elem(), 0)
}

// Invariant: what is in a table was never handed out with room to grow, and holds nothing that writes itself.

// intern returns the string that is equal to str and was seen first.
func (s *Sharer) intern(str string) string {
	if str == "" {
		return str
	}
	if known, ok := s.strings[str]; ok {
		return known
	}
	known, ok := s.oldStrings[str]
	if !ok {
		known = str
	}
	if s.makeRoomLocked(len(known)) {
		s.strings[known] = known
	}
	return known
}

// canonical returns the part that is equal to v and was seen first. v has no parts that are not canonical.
func (s *Sharer) canonical(v reflect.Value, hash uint64, size int) reflect.Value {
	k := partKey{v.Type(), hash}
	known, ok := s.young[k]
	if ok && same(known, v) {
		return known
	}
	if old, found := s.old[k]; found && !ok && same(old, v) {
		v = old
	} else if ok {
		return v // another part with the same hash: it stays alone
	} else if v.Kind() == reflect.Slice {
		v = clipped(v)
	} else {
		v = detached(v)
	}
	if s.makeRoomLocked(size) {
		s.young[k] = v
	}
	return v
}

// same is exact: hashes of equal parts differ where DeepEqual is lenient, as with the two zeros of a float.
func same(a, b reflect.Value) bool {
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// clipped returns v without room behind its end, in memory that has none.
func clipped(v reflect.Value) reflect.Value {
	n := v.Len()
	if v.Cap() == n {
		return detached(v)
	}
	exact := reflect.MakeSlice(v.Type(), n, n)
	reflect.Copy(exact, v)
	return exact
}

// detached returns v's value without the place where it is, which is in an object.
func detached(v reflect.Value) reflect.Value { return reflect.ValueOf(v.Interface()) }

// entryBytes is about what an entry costs beside the part.
const entryBytes = 64

// makeRoomLocked reports whether a part of that size is to be remembered.
func (s *Sharer) makeRoomLocked(size int) bool {
	size += entryBytes
	if size > s.limit/8 {
		return false
	}
	if s.size+size > s.limit {
		s.rotateLocked()
	}
	s.size += size
	return true
}

func (s *Sharer) rotateLocked() {
	s.old, s.oldStrings = s.young, s.strings
	s.young, s.strings, s.size = map[partKey]reflect.Value{}, map[string]string{}, 0
}
