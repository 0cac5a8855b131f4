package indexer

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"glasswatch/internal/shrink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// room counts the entries for which a store may keep memory, used or not: of maps, what they once held.
func room[K comparable, T any](s *Store[K, T]) int {
	c := &s.content
	n := c.allocated() + roomIn(&c.keys) + roomIn(&c.objs)
	for _, ix := range c.indices {
		n += roomIn(&ix.filed)
	}
	return n
}

func roomIn[E any](t *table[E]) int {
	n := cap(t.chunks)
	for _, ch := range t.chunks {
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
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := &s.content
	if shrink.IsDue(c.allocated(), c.inUse()) {
		t.Fatalf("the maps have room for far more than %d objects", len(c.slots))
	}
	checkContent(t, c)
	if latest := s.latest.Load(); latest != nil {
		checkLatest(t, c, &latest.frozen)
	}
}

func checkContent[K comparable, T comparable](t fataler, c *content[K, T]) {
	t.Helper()
	n := c.keys.len
	if len(c.slots) != n || c.objs.len != n {
		t.Fatalf("%d slots, %d keys, %d objects", len(c.slots), n, c.objs.len)
	}
	for i := range uint32(n) {
		if slot, ok := c.slots[c.keys.at(i)]; !ok || slot != i {
			t.Fatalf("the map finds %v in slot %d, %v instead of %d", c.keys.at(i), slot, ok, i)
		}
	}
	checkTable(t, &c.keys, c.epoch)
	checkTable(t, &c.objs, c.epoch)
	for _, ix := range c.indices {
		checkIndex(t, ix, n, c.epoch)
	}
}

// checkLatest: the snapshot of the present content shares what the store has, and both know it.
func checkLatest[K comparable, T comparable](t fataler, c, frozen *content[K, T]) {
	t.Helper()
	if frozen.rv != c.rv || len(frozen.indices) != len(c.indices) {
		t.Fatalf("the latest snapshot is at %s with %d indices, not at %s with %d", frozen.rv, len(frozen.indices), c.rv, len(c.indices))
	}
	checkShared(t, &frozen.keys, &c.keys, c.epoch)
	checkShared(t, &frozen.objs, &c.objs, c.epoch)
	for i, ix := range c.indices {
		checkShared(t, &frozen.indices[i].filed, &ix.filed, c.epoch)
	}
}

func checkShared[E any](t fataler, frozen, present *table[E], epoch uint64) {
	t.Helper()
	if frozen.len != present.len || len(frozen.chunks) != len(present.chunks) {
		t.Fatalf("the latest snapshot has %d entries instead of %d", frozen.len, present.len)
	}
	for i := range frozen.chunks {
		if &frozen.chunks[i].entries[0] != &present.chunks[i].entries[0] || present.chunks[i].epoch > epoch {
			t.Fatalf("chunk %d is not shared with the latest snapshot", i)
		}
	}
}

func checkTable[E any](t fataler, c *table[E], epoch uint64) {
	t.Helper()
	n := 0
	for i, ch := range c.chunks {
		last := i == len(c.chunks)-1
		if len(ch.entries) == 0 || !last && len(ch.entries) != chunkLen || len(ch.entries) > chunkLen {
			t.Fatalf("chunk %d of %d has %d entries", i, len(c.chunks), len(ch.entries))
		}
		if ch.epoch > epoch {
			t.Fatalf("chunk %d is of epoch %d, the store is in %d", i, ch.epoch, epoch)
		}
		n += len(ch.entries)
		for j, e := range ch.entries[len(ch.entries):cap(ch.entries)] {
			if ch.epoch == epoch && !reflect.ValueOf(&e).Elem().IsZero() {
				t.Fatalf("entry %d beyond the last is %v, not zero", j, e)
			}
		}
	}
	if n != c.len {
		t.Fatalf("%d entries, not %d", n, c.len)
	}
	for i, ch := range c.chunks[len(c.chunks):cap(c.chunks)] {
		if ch.entries != nil {
			t.Fatalf("chunk %d beyond the last is kept", i)
		}
	}
}

func checkIndex[T any](t fataler, ix *index[T], n int, epoch uint64) {
	t.Helper()
	checkTable(t, &ix.filed, epoch)
	if ix.filed.len != n {
		t.Fatalf("index %s: the sets of %d objects, not %d", ix.name, ix.filed.len, n)
	}
	filed, members, peaks := 0, 0, 0
	for slot := range uint32(n) {
		var values []string
		for _, s := range ix.filed.at(slot) {
			if _, ok := s.slots[slot]; !ok || ix.sets[s.value] != s {
				t.Fatalf("index %s: slot %d is not in the set of %q", ix.name, slot, s.value)
			}
			values = append(values, s.value)
		}
		if !slices.IsSorted(values) || len(slices.Compact(slices.Clone(values))) != len(values) {
			t.Fatalf("index %s: slot %d has the values %q", ix.name, slot, values)
		}
		filed += len(values)
	}
	if len(ix.sets) > ix.peak {
		t.Fatalf("index %s: %d values, counted %d at most", ix.name, len(ix.sets), ix.peak)
	}
	for v, s := range ix.sets {
		if len(s.slots) == 0 || len(s.slots) > s.peak || s.value != v || s.alone[0] != s {
			t.Fatalf("index %s: the set of %q is %v", ix.name, v, s)
		}
		members += len(s.slots)
		peaks += s.peak
	}
	if filed != members || members != ix.members || peaks != ix.setPeaks {
		t.Fatalf("index %s: %d values, %d members, counted %d; peaks of %d, counted %d", ix.name, filed, members, ix.members, peaks, ix.setPeaks)
	}
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
