package indexer

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// room counts the entries for which a store may keep memory, used or not: of maps, what they once held.
func room[K comparable, T any](s *Store[K, T]) int {
	c := &s.content
	n := roomInMaps(c) + roomIn(&c.keys) + roomIn(&c.objs)
	for _, ix := range c.indices {
		n += roomIn(&ix.filed)
	}
	return n
}

func roomInMaps[K comparable, T any](c *content[K, T]) int {
	n := c.slots.peak
	for _, ix := range c.indices {
		n += ix.sets.peak
		for _, set := range ix.sets.entries {
			n += set.slots.peak
		}
	}
	return n
}

// roomIn leaves out the list of chunks, which keeps its memory: an eighth of a byte for each object that there ever was.
func roomIn[E any](t *table[E]) (n int) {
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
	checkContent(t, &s.content)
	if latest := s.latest.Load(); latest != nil {
		checkLatest(t, &s.content, latest)
	}
}

func checkContent[K comparable, T comparable](t fataler, c *content[K, T]) {
	t.Helper()
	n := c.keys.len
	if len(c.slots.entries) != n || c.objs.len != n {
		t.Fatalf("%d slots, %d keys, %d objects", len(c.slots.entries), n, c.objs.len)
	}
	for i := range uint32(n) {
		if slot, ok := c.slots.entries[c.keys.at(i)]; !ok || slot != i {
			t.Fatalf("the map finds %v in slot %d, %v instead of %d", c.keys.at(i), slot, ok, i)
		}
	}
	checkMap(t, &c.slots)
	checkTable(t, &c.keys)
	checkTable(t, &c.objs)
	for _, ix := range c.indices {
		checkIndex(t, ix, n)
	}
}

func checkMap[K comparable, V any](t fataler, m *shrinkingMap[K, V]) {
	t.Helper()
	if n := len(m.entries); n > m.peak || n < m.peak/4 {
		t.Fatalf("%d entries of %d at most", n, m.peak)
	}
}

// checkLatest: the snapshot of the present content shares what the store has.
func checkLatest[K comparable, T comparable](t fataler, c *content[K, T], latest *moment[K, T]) {
	t.Helper()
	if latest.rv != c.rv || len(latest.filed) != len(c.indices) {
		t.Fatalf("the latest snapshot is at %s with %d indices, not at %s with %d", latest.rv, len(latest.filed), c.rv, len(c.indices))
	}
	checkShared(t, latest.keys, c.keys)
	checkShared(t, latest.objs, c.objs)
	for _, ix := range c.indices {
		checkShared(t, latest.filed[ix.name], ix.filed)
	}
}

func checkShared[E any](t fataler, frozen, present table[E]) {
	t.Helper()
	if frozen.len != present.len || len(frozen.chunks) != len(present.chunks) {
		t.Fatalf("the latest snapshot has %d entries instead of %d", frozen.len, present.len)
	}
	for i := range frozen.chunks {
		if &frozen.chunks[i].entries[0] != &present.chunks[i].entries[0] || !present.chunks[i].shared {
			t.Fatalf("chunk %d is not shared with the latest snapshot", i)
		}
	}
}

func checkTable[E any](t fataler, c *table[E]) {
	t.Helper()
	n := 0
	for i, ch := range c.chunks {
		last := i == len(c.chunks)-1
		if len(ch.entries) == 0 || !last && len(ch.entries) != chunkLen || len(ch.entries) > chunkLen {
			t.Fatalf("chunk %d of %d has %d entries", i, len(c.chunks), len(ch.entries))
		}
		n += len(ch.entries)
		for j, e := range ch.entries[len(ch.entries):cap(ch.entries)] {
			if !reflect.ValueOf(&e).Elem().IsZero() {
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

func checkIndex[T any](t fataler, ix *index[T], n int) {
	t.Helper()
	checkTable(t, &ix.filed)
	if ix.filed.len != n {
		t.Fatalf("index %s: the sets of %d objects, not %d", ix.name, ix.filed.len, n)
	}
	filed, members := 0, 0
	for slot := range uint32(n) {
		var values []string
		for _, s := range ix.filed.at(slot) {
			if _, ok := s.slots.entries[slot]; !ok || ix.sets.entries[s.value] != s {
				t.Fatalf("index %s: slot %d is not in the set of %q", ix.name, slot, s.value)
			}
			values = append(values, s.value)
		}
		if !slices.IsSorted(values) || len(slices.Compact(slices.Clone(values))) != len(values) {
			t.Fatalf("index %s: slot %d has the values %q", ix.name, slot, values)
		}
		filed += len(values)
	}
	checkMap(t, &ix.sets)
	for v, s := range ix.sets.entries {
		checkMap(t, &s.slots)
		if len(s.slots.entries) == 0 || s.value != v {
			t.Fatalf("index %s: the set of %q is %v", ix.name, v, s)
		}
		members += len(s.slots.entries)
	}
	if filed != members {
		t.Fatalf("index %s: %d values, %d members", ix.name, filed, members)
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
