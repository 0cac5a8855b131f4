package indexer

import (
	"fmt"
	"maps"
	"slices"

	"glasswatch/internal/guard"
)

// index finds the slots of the objects that have a value. It remembers the sets of each slot, so that a write need not
// ask the index function about an old object. Invariant: a set has a slot exactly if filed.at(slot) has the set.
type index[T any] struct {
	name  string
	fn    IndexFunc[T]
	sets  shrinkingMap[string, *set] // by value
	filed table[[]*set]              // by slot, in the order of the values; the slices are never changed
}

// set is the slots of the objects that have a value. It is empty only between setsOf and the end of refile.
type set struct {
	value string // does not change: snapshots read it
	slots shrinkingMap[uint32, struct{}]
}

// valuesOf asks the index function, which may append to the empty dst. The values are sorted, and do not repeat.
func (ix *index[T]) valuesOf(obj T, dst []string) ([]string, error) {
	returned, err := ix.fn.call(obj, dst)
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", ix.name, err)
	}
	values := append(dst, returned...) // a copy, or onto itself: the function may have returned a slice that it keeps
	slices.Sort(values)
	return slices.Compact(values), nil
}

// call makes an error of a panic.
func (fn IndexFunc[T]) call(obj T, dst []string) (values []string, err error) {
	defer guard.Recover("index function", &err)
	return fn(obj, dst)
}

// update files the object in a slot, which may be the next one, under values. If it is filed so already, nothing happens.
func (ix *index[T]) update(slot uint32, values []string) {
	if int(slot) == ix.filed.len {
		ix.filed.push(nil)
	}
	if !slices.EqualFunc(ix.filed.at(slot), values, func(s *set, value string) bool { return s.value == value }) {
		ix.refile(slot, ix.setsOf(values))
	}
}

// remove takes out the object in a slot. The object in the last slot moves there.
func (ix *index[T]) remove(slot uint32) {
	last := uint32(ix.filed.len - 1)
	ix.refile(slot, ix.filed.at(last))
	ix.refile(last, nil)
	ix.filed.pop()
}

// setsOf returns the sets of values. Those that did not exist are empty: refile must put a slot there.
func (ix *index[T]) setsOf(values []string) []*set {
	sets := make([]*set, len(values))
	for i, value := range values {
		s, ok := ix.sets.entries[value]
		if !ok {
			s = &set{value, newShrinkingMap[uint32, struct{}](0)}
			ix.sets.put(value, s)
		}
		sets[i] = s
	}
	return sets
}

// refile moves a slot from the sets that it is in to other sets. Sets that are empty then are deleted at the end, as a
// set may be among the old and the new ones.
func (ix *index[T]) refile(slot uint32, sets []*set) {
	old := ix.filed.at(slot)
	for _, s := range old {
		s.slots.delete(slot)
	}
	for _, s := range sets {
		s.slots.put(slot, struct{}{})
	}
	for _, s := range old {
		if len(s.slots.entries) == 0 {
			ix.sets.delete(s.value)
		}
	}
	ix.filed.set(slot, sets)
}

// slotsOf returns the slots of the objects that have at least one of values. The caller must not change the map.
func (ix *index[T]) slotsOf(values []string) map[uint32]struct{} {
	if len(values) == 1 {
		return ix.slotsWith(values[0])
	}
	union := map[uint32]struct{}{}
	for _, value := range values {
		maps.Copy(union, ix.slotsWith(value))
	}
	return union
}

func (ix *index[T]) slotsWith(value string) map[uint32]struct{} {
	s, ok := ix.sets.entries[value]
	if !ok {
		return nil
	}
	return s.slots.entries
}
