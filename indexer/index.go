package indexer

import (
	"fmt"
	"maps"
	"slices"
)

// index finds the slots of the objects that have a value. It remembers each object's values, so that it need not ask the
// index function about an old object. Invariant: sets[v] contains slot exactly if values.at(slot) contains v.
type index[T any] struct {
	name    string
	fn      IndexFunc[T]
	values  table[[]string] // by slot: sorted, without repetition, never changed
	sets    map[string]slotSet
	members int // of all sets together
	removed int // members that have left a set since the index was made
}

type slotSet map[uint32]struct{}

func newIndex[T any](name string, fn IndexFunc[T]) *index[T] {
	return &index[T]{name: name, fn: fn, sets: map[string]slotSet{}}
}

// valuesOf asks the index function, which may append to the empty scratch. The values are sorted, without repetition.
// Where the function fails, by an error or a panic, there are none.
func (ix *index[T]) valuesOf(obj T, scratch []string) (values []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			values, err = nil, fmt.Errorf("index %q: index function panicked: %v", ix.name, p)
		}
	}()
	returned, err := ix.fn(obj, scratch)
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", ix.name, err)
	}
	values = append(scratch, returned...) // a copy: the function may have returned a slice that it keeps
	slices.Sort(values)
	return slices.Compact(values), nil
}

// push files the object in the next slot under values.
func (ix *index[T]) push(values []string) {
	ix.values.push(nil)
	ix.update(uint32(ix.values.len-1), values)
}

// update files the object in a slot under values, of which it keeps a copy. If they are the same as before, it does nothing.
func (ix *index[T]) update(slot uint32, values []string) {
	old := ix.values.at(slot)
	if slices.Equal(old, values) {
		return
	}
	for _, v := range old {
		delete(ix.sets[v], slot)
		if len(ix.sets[v]) == 0 {
			delete(ix.sets, v)
		}
	}
	for _, v := range values {
		if ix.sets[v] == nil {
			ix.sets[v] = slotSet{}
		}
		ix.sets[v][slot] = struct{}{}
	}
	ix.values.set(slot, slices.Clone(values))
	ix.members += len(values) - len(old)
	ix.removed += len(old)
}

// remove takes out the object in a slot. The object in the last slot moves there.
func (ix *index[T]) remove(slot uint32) {
	last := uint32(ix.values.len - 1)
	ix.update(slot, ix.values.at(last))
	ix.update(last, nil)
	ix.values.pop()
}

// slotsOf returns the slots of the objects that have at least one of values. The caller must not change the set.
func (ix *index[T]) slotsOf(values []string) slotSet {
	if len(values) == 1 {
		return ix.sets[values[0]]
	}
	union := slotSet{}
	for _, v := range values {
		maps.Copy(union, ix.sets[v])
	}
	return union
}
