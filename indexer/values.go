package indexer

import (
	"fmt"
	"slices"
)

// scratch is what a writer works out before it locks the store. A store keeps some, so that writing allocates nothing.
type scratch[K comparable] struct {
	values []string // of all objects in order, and of each for all indices in order
	ends   []int    // where in values those of an object and an index end
	taken  int      // how many of ends are behind next
	start  int      // where in values those begin that next returns
	failed []failure[K]
}

type failure[K comparable] struct {
	key K
	err error
}

// finish reports what failed and keeps the memory for the next write. No lock may be held.
func (s *Store[K, T]) finish(sc *scratch[K]) {
	if s.opts.OnError != nil {
		for _, f := range sc.failed {
			s.opts.OnError(s.ownKey(f.key), f.err)
		}
	}
	if cap(sc.values) <= 1<<14 { // not for ever the memory of a large write
		sc.reset()
		s.scratch.Put(sc)
	}
}

// reset forgets everything, and lets go of the strings.
func (sc *scratch[K]) reset() {
	sc.forgetValues()
	clear(sc.failed)
	sc.failed = sc.failed[:0]
}

func (sc *scratch[K]) forgetValues() {
	clear(sc.values)
	sc.values, sc.ends, sc.taken, sc.start = sc.values[:0], sc.ends[:0], 0, 0
}

// next returns the values of the next object and index, in the order in which they were computed.
func (sc *scratch[K]) next() []string {
	start, end := sc.start, sc.ends[sc.taken]
	sc.start, sc.taken = end, sc.taken+1
	return sc.values[start:end]
}

// compute asks all index functions about an object. No lock may be held.
func compute[K comparable, T any](sc *scratch[K], defs []*definition[T], key K, obj T) {
	for _, def := range defs {
		n := len(sc.values)
		values, err := def.valuesOf(obj, sc.values[n:n])
		if err != nil {
			sc.failed = append(sc.failed, failure[K]{key, err})
		}
		sc.values = append(sc.values, values...)
		slices.Sort(sc.values[n:])
		sc.values = sc.values[:n+len(slices.Compact(sc.values[n:]))]
		sc.ends = append(sc.ends, len(sc.values))
	}
}

// valuesOf asks one index function. Where it fails, by an error or a panic, there are no values.
func (def *definition[T]) valuesOf(obj T, dst []string) (values []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			values, err = nil, fmt.Errorf("index %q: index function panicked: %v", def.name, p)
		}
	}()
	if values, err = def.fn(obj, dst); err != nil {
		return nil, fmt.Errorf("index %q: %w", def.name, err)
	}
	return values, nil
}
