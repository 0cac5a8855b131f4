package indexer

import (
	"fmt"
	"slices"
)

// scratch is what a writer works out before it locks the store. Stores keep some, so that writing allocates nothing.
type scratch[K comparable] struct {
	tags    []uint32 // of each operation's key
	values  []string // of all operations, in order, and for each of all indices, in order
	ends    []uint32 // where in values those of an operation and index end
	failed  []failure[K]
	updates []update // whose objects are not stored yet
}

// update is an operation on an object that is there, in slot.
type update struct {
	op   int
	slot uint32
}

// failure is an index function's error.
type failure[K comparable] struct {
	key K
	def string
	err error
}

// maxPooled bounds what a pooled scratch may weigh, in values.
const maxPooled = 1 << 14

func (s *Store[K, T]) getScratch() *scratch[K] { return s.scratch.Get().(*scratch[K]) }

// putScratch reports the failures and keeps the memory. No lock may be held.
func (s *Store[K, T]) putScratch(sc *scratch[K]) {
	if s.onError != nil {
		for _, f := range sc.failed {
			if s.cloneKey != nil {
				f.key = s.cloneKey(f.key)
			}
			s.onError(f.key, f.err)
		}
	}
	if cap(sc.values)+cap(sc.tags) > maxPooled {
		return
	}
	sc.reset()
	s.scratch.Put(sc)
}

// reset forgets values and failures, but not tags.
func (sc *scratch[K]) reset() {
	clear(sc.values)
	clear(sc.failed)
	sc.values, sc.ends, sc.failed = sc.values[:0], sc.ends[:0], sc.failed[:0]
}

// valuesOf returns the values of the i-th index for the op-th operation, of n indices.
func (sc *scratch[K]) valuesOf(op, i, n int) []string {
	at := op*n + i
	start := uint32(0)
	if at > 0 {
		start = sc.ends[at-1]
	}
	return sc.values[start:sc.ends[at]]
}

// compute runs the index functions on one object, or none if there is none.
func compute[K comparable, T any](sc *scratch[K], defs []*definition[T], key K, obj T, none bool) {
	if none {
		for range defs {
			sc.ends = append(sc.ends, uint32(len(sc.values)))
		}
		return
	}
	for done := 0; done < len(defs); {
		done = computeFrom(sc, defs, done, key, obj)
	}
}

// computeFrom runs the index functions from defs[next] on, until one panics, and returns the number of those done.
func computeFrom[K comparable, T any](sc *scratch[K], defs []*definition[T], next int, key K, obj T) (done int) {
	done = next
	defer func() {
		if p := recover(); p != nil {
			sc.end(key, defs[done].name, nil, fmt.Errorf("index function panicked: %v", p))
			done++
		}
	}()
	for ; done < len(defs); done++ {
		n := len(sc.values)
		values, err := defs[done].fn(obj, sc.values[n:n])
		sc.end(key, defs[done].name, values, err)
	}
	return done
}

// end notes what an index function returned.
func (sc *scratch[K]) end(key K, index string, values []string, err error) {
	n := len(sc.values)
	switch {
	case err != nil:
		sc.failed = append(sc.failed, failure[K]{key, index, fmt.Errorf("index %q: %w", index, err)})
	case len(values) == 1:
		sc.values = append(sc.values, values[0])
	default:
		sc.values = append(sc.values, values...)
		sc.values = sc.values[:n+distinct(sc.values[n:])]
	}
	sc.ends = append(sc.ends, uint32(len(sc.values)))
}

// distinct moves values to the front without repetitions and returns their number.
func distinct(values []string) int {
	if len(values) < 2 {
		return len(values)
	}
	if len(values) > 16 {
		slices.Sort(values)
		return len(slices.Compact(values))
	}
	n := 0
	for _, v := range values {
		if !slices.Contains(values[:n], v) {
			values[n] = v
			n++
		}
	}
	return n
}
