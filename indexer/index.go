package indexer

import (
	"fmt"
	"maps"
	"slices"

	"glasswatch/internal/guard"
)

// index finds the slots of the objects that have a value. It remembers the sets of each slot, so that a write need not ask
// the index function about an old object. Invariant: a set has a slot exactly if filed.at(slot) has the set.
type index[T any] struct {
	name     string
	fn       IndexFunc[T]
	sets     map[string]*set // by value
	peak     int             // the largest number of sets so far
	filed    table[[]*set]   // by slot, in the order of the values; the slices are never changed
	members  int             // of all sets together
	setPeaks int             // the sum of the sets' peaks
}

// set is the slots of the objects that have a value. It is empty only between setsOf and the end of refile.
type set struct {
	value string // does not change: snapshots read it
	slots map[uint32]struct{}
	peak  int     // the largest number of slots so far
	alone [1]*set // this set, so that objects that have no other value need no slice of their own
}

func newIndex[T any](name string, fn IndexFunc[T]) *index[T] {
	return &index[T]{name: name, fn: fn, sets: map[string]*set{}}
}

// valuesOf asks the index function, which may append to dst. The values are sorted, and do not repeat.
func (ix *index[T]) valuesOf(obj T, dst []string) ([]string, error) {
	returned, err := ix.fn.call(obj, dst)
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", ix.name, err)
	}
	values := append(dst, returned...) // a copy, or onto itself: the function may have returned a slice that it keeps
	if len(values) > 1 {
		slices.Sort(values)
	}
	return slices.Compact(values), nil
}

// call makes an error of a panic.
func (fn IndexFunc[T]) call(obj T, dst []string) (values []string, err error) {
	defer guard.Recover("index function", &err)
	return fn(obj, dst)
}

// setsOf returns the sets of values. They must get a slot: those that did not exist are empty.
func (ix *index[T]) setsOf(values []string) []*set {
	if len(values) == 1 {
		return ix.setOf(values[0]).alone[:]
	}
	var sets []*set
	for _, value := range values {
		sets = append(sets, ix.setOf(value))
	}
	return sets
}

func (ix *index[T]) setOf(value string) *set {
	s, ok := ix.sets[value]
	if !ok {
		s = &set{value: value, slots: map[uint32]struct{}{}}
		s.alone[0] = s
		ix.sets[value] = s
		ix.peak = max(ix.peak, len(ix.sets))
	}
	return s
}

// update puts the object in a slot, which may be the next one, into the sets of values instead of those that it was in. If
// the values are the same as before, it does nothing.
func (ix *index[T]) update(slot uint32, values []string, epoch uint64) {
	if int(slot) == ix.filed.len {
		ix.filed.push(nil, epoch)
	}
	if !slices.EqualFunc(ix.filed.at(slot), values, func(s *set, value string) bool { return s.value == value }) {
		ix.refile(slot, ix.setsOf(values), epoch)
	}
}

// remove takes out the object in a slot. The object in the last slot moves there.
func (ix *index[T]) remove(slot uint32, epoch uint64) {
	last := uint32(ix.filed.len - 1)
	ix.refile(slot, ix.filed.at(last), epoch)
	ix.refile(last, nil, epoch)
	ix.filed.pop(epoch)
}

// refile moves a slot from the sets that it is in to other sets. Empty sets go last, for a set may be among old and new.
func (ix *index[T]) refile(slot uint32, sets []*set, epoch uint64) {
	old := ix.filed.at(slot)
	for _, s := range old {
		delete(s.slots, slot)
	}
	for _, s := range sets {
		s.slots[slot] = struct{}{}
		if len(s.slots) > s.peak {
			s.peak++
			ix.setPeaks++
		}
	}
	for _, s := range old {
		if len(s.slots) == 0 {
			delete(ix.sets, s.value)
			ix.setPeaks -= s.peak
		}
	}
	ix.members += len(sets) - len(old)
	ix.filed.set(slot, sets, epoch)
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
	s, ok := ix.sets[value]
	if !ok {
		return nil
	}
	return s.slots
}
