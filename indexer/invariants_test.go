package indexer

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// room counts the entries for which a store keeps memory, used or not.
func room[K comparable, T any](s *Store[K, T]) int {
	n := s.peak + roomIn(&s.keys) + roomIn(&s.objs)
	for _, ix := range s.indices {
		n += ix.lists.len + roomIn(&ix.lists) + cap(ix.free) + cap(ix.postings) // numbers never had more values than lists.len
		for number := range uint32(ix.lists.len) {
			n += roomIn(&ix.lists.at(number).slots)
		}
		for _, p := range ix.postings {
			for further := p.next; further != nil; further = further.next {
				n++
			}
		}
	}
	return n
}

func roomIn[E any](c *column[E]) int {
	n := cap(c.chunks)
	for _, ch := range c.chunks {
		n += cap(ch.entries)
	}
	return n
}

// sameMap tells whether both are one map, not only equal.
func sameMap(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkInvariants looks at everything a store is made of.
func checkInvariants[K comparable, T comparable](t fataler, s *Store[K, T]) {
	t.Helper()
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := s.keys.len
	if len(s.slots) != n || s.objs.len != n || s.peak < n {
		t.Fatalf("%d slots (at most %d), %d keys, %d objects", len(s.slots), s.peak, n, s.objs.len)
	}
	if mostlyEmpty(n, s.peak) {
		t.Fatalf("a map that once had %d keys has %d", s.peak, n)
	}
	for i := range uint32(n) {
		if slot, ok := s.slots[*s.keys.at(i)]; !ok || slot != i {
			t.Fatalf("the map finds %v in slot %d, %v instead of %d", *s.keys.at(i), slot, ok, i)
		}
	}
	epoch := s.epoch.Load()
	checkColumn(t, &s.keys, epoch)
	checkColumn(t, &s.objs, epoch)
	defs := *s.defs.Load()
	if len(defs) != len(s.indices) {
		t.Fatalf("%d definitions, %d indices", len(defs), len(s.indices))
	}
	for i, ix := range s.indices {
		if ix.def.name != defs[i].name {
			t.Fatalf("index %d is %s, its definition is %s", i, ix.def.name, defs[i].name)
		}
		checkIndex(t, ix, n, epoch)
	}
	if m := s.present.Load(); m != nil {
		checkPresent(t, s, m)
	}
}

// checkPresent: the snapshot of the present moment shares what the store has, and nothing of the present epoch.
func checkPresent[K comparable, T comparable](t fataler, s *Store[K, T], m *moment[K, T]) {
	t.Helper()
	if m.keys.len != s.keys.len || m.rv != s.rv {
		t.Fatalf("the present moment has %d at %s instead of %d at %s", m.keys.len, m.rv, s.keys.len, s.rv)
	}
	checkShared(t, &m.keys, &s.keys, s.epoch.Load())
	checkShared(t, &m.objs, &s.objs, s.epoch.Load())
}

func checkShared[E comparable](t fataler, frozen, present *column[E], epoch uint64) {
	t.Helper()
	for i := range frozen.chunks {
		if &frozen.chunks[i] != &present.chunks[i] || frozen.epoch >= epoch || frozen.chunks[i].epoch >= epoch {
			t.Fatalf("in epoch %d, chunk %d of epoch %d is not shared as it should be", epoch, i, frozen.chunks[i].epoch)
		}
	}
}

func checkColumn[E any](t fataler, c *column[E], epoch uint64) {
	t.Helper()
	if c.epoch > epoch {
		t.Fatalf("the chunks are of epoch %d, the store is in %d", c.epoch, epoch)
	}
	for i, ch := range c.chunks {
		last := i == len(c.chunks)-1
		if len(ch.entries) == 0 || !last && len(ch.entries) != chunkLen || len(ch.entries) > chunkLen {
			t.Fatalf("chunk %d of %d has %d entries", i, len(c.chunks), len(ch.entries))
		}
		for j, e := range ch.entries[len(ch.entries):cap(ch.entries)] {
			if !reflect.ValueOf(&e).Elem().IsZero() {
				t.Fatalf("entry %d beyond the last is %v, not zero", j, e)
			}
		}
		if ch.epoch > epoch {
			t.Fatalf("chunk %d is of epoch %d, the store is in %d", i, ch.epoch, epoch)
		}
	}
}

func checkIndex[T any](t fataler, ix *index[T], n int, epoch uint64) {
	t.Helper()
	name := ix.def.name
	if len(ix.postings) != n {
		t.Fatalf("index %s: %d first postings for %d objects", name, len(ix.postings), n)
	}
	type place struct{ list, position uint32 }
	members := map[place]uint32{}
	for slot := range uint32(n) {
		for p := ix.first(slot); p != nil; p = p.next {
			members[place{p.list, p.position}] = slot
		}
	}
	if ix.lists.len*16 > n && mostlyEmpty(len(ix.numbers), ix.lists.len) {
		t.Fatalf("index %s: an index that once had %d values has %d", name, ix.lists.len, len(ix.numbers))
	}
	if list := ix.lists.at(0); list.value != "" || list.slots.len != 0 {
		t.Fatalf("index %s: list 0 is %v", name, list)
	}
	live, total := 0, 0
	for number := uint32(1); number < uint32(ix.lists.len); number++ {
		list := ix.lists.at(number)
		if list.slots.len == 0 {
			if list.value != "" || !slices.Contains(ix.free, number) {
				t.Fatalf("index %s: list %d is lost", name, number)
			}
			continue
		}
		live++
		total += list.slots.len
		if got := ix.numbers[list.value]; got != number {
			t.Fatalf("index %s: value %q is found in list %d instead of %d", name, list.value, got, number)
		}
		for position := range uint32(list.slots.len) {
			slot, ok := members[place{number, position}]
			if !ok || slot != *list.slots.at(position) {
				t.Fatalf("index %s: value %q has slot %d at %d, its posting says %d, %v",
					name, list.value, *list.slots.at(position), position, slot, ok)
			}
		}
		checkColumn(t, &list.slots, epoch)
	}
	if total != len(members) || live != len(ix.numbers) || live+len(ix.free)+1 != ix.lists.len {
		t.Fatalf("index %s: %d members, %d postings; %d live, %d free of %d",
			name, total, len(members), live, len(ix.free), ix.lists.len)
	}
	checkColumn(t, &ix.lists, epoch)
}

// item is what tests store.
type item struct {
	key     string
	version int
	group   string   // index "group"; "bad" fails, "panic" panics, "" is in no group
	tags    []string // index "tags"
}

func itemKey(o *item) (string, error) {
	if o.key == "" {
		return "", fmt.Errorf("no key")
	}
	return o.key, nil
}

func byGroup(o *item, dst []string) ([]string, error) {
	switch o.group {
	case "bad":
		return append(dst, "partial"), fmt.Errorf("bad group of %s", o.key)
	case "panic":
		panic("a group that panics")
	case "":
		return dst, nil
	}
	return append(dst, o.group), nil
}

func byTags(o *item, dst []string) ([]string, error) { return o.tags, nil }

func byParity(o *item, dst []string) ([]string, error) {
	return append(dst, []string{"even", "odd"}[o.version%2]), nil
}
