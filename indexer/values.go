package indexer

import (
	"fmt"
	"slices"
)

// scratch is what a writer works out before it locks the store. A store keeps some, so that writing allocates nothing.
type scratch[K comparable, T any] struct {
	defs   []*definition[T]
	values [][]string // a slice for each object and index: all of the first object, then all of the second, and so on
	memory []string   // the array that the slices in values are parts of
	failed []failure[K]
}

type failure[K comparable] struct {
	key K
	err error
}

// compute asks all index functions about an object. The store must be unlocked.
func (sc *scratch[K, T]) compute(key K, obj T) {
	for _, def := range sc.defs {
		n := len(sc.memory)
		values, err := def.valuesOf(obj, sc.memory[n:])
		if err != nil {
			sc.failed = append(sc.failed, failure[K]{key, err})
		}
		sc.memory = append(sc.memory, values...)
		values = sc.memory[n:]
		slices.Sort(values)
		sc.values = append(sc.values, slices.Compact(values))
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
