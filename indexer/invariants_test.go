package indexer

import (
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkInvariants looks at everything a store is made of. No write may be under way.
func checkInvariants[K comparable, T comparable](t fataler, s *Store[K, T]) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != 0 {
		t.Fatalf("stripes %b are still locked", s.held)
	}
	if s.reading.Load() != 0 || s.writers.Load() != 0 {
		t.Fatalf("%d reads and %d writes are said to be under way", s.reading.Load(), s.writers.Load())
	}
	if s.disturbed || s.turn.Load()%2 != 0 {
		t.Fatalf("lookups still wait for a write: turn %d", s.turn.Load())
	}
	if s.size.Load() != int64(s.n) {
		t.Fatalf("size is %d, n is %d", s.size.Load(), s.n)
	}
	slots := make([]uint32, s.n)
	for i := range slots {
		slots[i] = uint32(i)
		key := *s.keys.at(uint32(i))
		if got, ok := find(s.table.dir.Load(), s.keys.sp.Load(), key, s.tagOf(key)); !ok || got != uint32(i) {
			t.Fatalf("the table finds %v in slot %d, %v instead of %d", key, got, ok, i)
		}
	}
	checkPlaces(t, s)
	checkVec(t, &s.keys, s.n)
	checkVec(t, &s.objs, s.n)
	checkTable(t, &s.table, slots)
	defs := *s.defs.Load()
	if len(defs) != len(s.indices) {
		t.Fatalf("%d definitions, %d indices", len(defs), len(s.indices))
	}
	for i, ix := range s.indices {
		if ix.def != defs[i] {
			t.Fatalf("index %d has another definition", i)
		}
		checkIndex(t, ix, int(s.n))
	}
}

// checkPlaces: what lookups read without a lock knows the present slots, and no writer will write to it.
func checkPlaces[K comparable, T comparable](t fataler, s *Store[K, T]) {
	t.Helper()
	p := s.resting.Load()
	if p == nil {
		return
	}
	frozen := s.clock.frozen
	for _, pin := range s.pins {
		if pin.settled.Load() {
			frozen = max(frozen, pin.epoch)
		}
	}
	for i := range s.n {
		key := *s.keys.at(i)
		if slot, ok := find(p.dir, p.keys, key, s.tagOf(key)); !ok || slot != i {
			t.Fatalf("lookups find %v in slot %d, %v instead of %d", key, slot, ok, i)
		}
		if p.objs != nil && *p.objs.at(i) != *s.objs.at(i) {
			t.Fatalf("lookups find %v under %v instead of %v", *p.objs.at(i), key, *s.objs.at(i))
		}
		if ch := p.keys.chunk(int(i / chunkLen)); ch.epoch > frozen {
			t.Fatalf("lookups read a chunk of epoch %d, of which no snapshot is kept after %d", ch.epoch, frozen)
		}
	}
	n := 0
	var last *bucket
	for _, b := range p.dir.buckets {
		if b != last {
			n += b.n
		}
		if last = b; b.epoch > frozen {
			t.Fatalf("lookups read a bucket of epoch %d, of which no snapshot is kept after %d", b.epoch, frozen)
		}
	}
	if n != int(s.n) {
		t.Fatalf("lookups know of %d objects, not %d", n, s.n)
	}
}

// checkVec: all slots from n on are zero, and few chunks lie unused.
func checkVec[E comparable](t fataler, v *vec[E], n uint32) {
	t.Helper()
	var zero E
	sp := v.sp.Load()
	used := 0
	for c := range sp.chunks {
		ch := sp.chunk(c)
		if ch == nil {
			continue
		}
		used++
		for i := range ch.e {
			if uint32(c*chunkLen+i) >= n && ch.e[i] != zero {
				t.Fatalf("slot %d of %d is %v, not zero", c*chunkLen+i, n, ch.e[i])
			}
		}
	}
	if need := (int(n) + chunkLen - 1) / chunkLen; used < need || used > need+1 {
		t.Fatalf("%d chunks for %d slots", used, n)
	}
}

// checkTable: the entries are those of slots, each reachable and marked, and every directory entry has the right bucket.
func checkTable(t fataler, tb *table, slots []uint32) {
	t.Helper()
	d := tb.dir.Load()
	var found []uint32
	var last *bucket
	for i, b := range d.buckets {
		if b.depth > d.depth || b.depth < tb.minDepth {
			t.Fatalf("a bucket of depth %d in a directory of depth %d", b.depth, d.depth)
		}
		first := i &^ (1<<(d.depth-b.depth) - 1)
		if d.buckets[first] != b {
			t.Fatalf("entries %d and %d of the directory should be one bucket", first, i)
		}
		if b == last {
			continue
		}
		last = b
		n := 0
		for tag, slot := range b.all() {
			n++
			found = append(found, slot)
			if d.bucket(tag) != b {
				t.Fatalf("tag %x is in the wrong bucket", tag)
			}
			if at, i := b.position(tag, slot); byte(b.groups[at].marks>>(8*i)) != byte(mark(tag)) {
				t.Fatalf("the mark of tag %x is missing from %x", tag, b.groups[at].marks)
			}
		}
		if n != b.n || n*4 >= len(b.groups)*groupLen*3 {
			t.Fatalf("bucket counts %d, has %d of %d", b.n, n, len(b.groups)*groupLen)
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, slots) {
		t.Fatalf("the table holds slots %v, want %v", found, slots)
	}
}

func checkIndex[T any](t fataler, ix *index[T], n int) {
	t.Helper()
	if len(ix.filed) != n {
		t.Fatalf("index %s: %d filings for %d objects", ix.def.name, len(ix.filed), n)
	}
	members := map[filing]uint32{}
	nmany := 0
	for slot, f := range ix.filed {
		switch f.value {
		case nothing, pending:
		case many:
			nmany++
			if len(ix.many[uint32(slot)]) < 2 {
				t.Fatalf("index %s: slot %d should have many values", ix.def.name, slot)
			}
			for _, f := range ix.many[uint32(slot)] {
				members[f] = uint32(slot)
			}
		default:
			members[f] = uint32(slot)
		}
	}
	if nmany != len(ix.many) {
		t.Fatalf("index %s: %d lists of many values, want %d", ix.def.name, len(ix.many), nmany)
	}
	var live []uint32
	total := 0
	for id := range ix.ids {
		p := *ix.posts.at(id)
		if p == nil {
			if !slices.Contains(ix.free, id) {
				t.Fatalf("index %s: id %d is lost", ix.def.name, id)
			}
			continue
		}
		live = append(live, id)
		total += int(p.n)
		if gotID, got := findValue(ix.table.dir.Load(), ix.posts.sp.Load(), p.value, tagOfValue(ix.seed, p.value)); got != p || gotID != id {
			t.Fatalf("index %s: value %q is not found", ix.def.name, p.value)
		}
		if p.n == 0 || len(p.head) != min(int(p.n), chunkLen) {
			t.Fatalf("index %s: value %q has %d, head %d", ix.def.name, p.value, p.n, len(p.head))
		}
		for pos := range p.n {
			if slot, ok := members[filing{id + 1, pos}]; !ok || slot != p.at(pos) {
				t.Fatalf("index %s: value %q has slot %d at %d, filed is %d, %v", ix.def.name, p.value, p.at(pos), pos, slot, ok)
			}
		}
	}
	if total != len(members) || len(live)+len(ix.free) != int(ix.ids) {
		t.Fatalf("index %s: %d members, %d filings; %d live, %d free of %d", ix.def.name, total, len(members), len(live), len(ix.free), ix.ids)
	}
	checkTable(t, &ix.table, live)
	checkVec(t, &ix.posts, ix.ids)
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
