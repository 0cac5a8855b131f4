package indexer

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTable_EqualsAMapHoweverTagsCollide also takes snapshots, by raising the barrier: what was made before must not change.
func TestTable_EqualsAMapHoweverTagsCollide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tb table
		w := &clock{now: 1}
		tb.init(1, w.now)
		bySlot := map[uint32]uint32{} // slot → tag
		next := uint32(0)
		var old *directory
		var held map[uint32]uint32
		slots := func(d *directory) map[uint32]uint32 {
			got := map[uint32]uint32{}
			for i, b := range d.buckets {
				if i > 0 && d.buckets[i-1] == b {
					continue
				}
				for tag, slot := range b.all() {
					got[slot] = tag
				}
			}
			return got
		}
		// Few bits differ: those that choose the bucket, the group, and the mark.
		tag := rapid.Custom(func(t *rapid.T) uint32 {
			return rapid.Uint32Range(0, 3).Draw(t, "high")<<30 | rapid.Uint32Range(0, 1).Draw(t, "mark")<<8 | rapid.SampledFrom([]uint32{0, 1, 6, 7, 30, 31}).Draw(t, "group")
		})
		// withSome calls f with a slot that is there, if there is one.
		withSome := func(t *rapid.T, f func(slot uint32)) {
			if len(bySlot) > 0 {
				f(rapid.SampledFrom(slices.Sorted(maps.Keys(bySlot))).Draw(t, "slot"))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				checkTable(t, &tb, slices.Sorted(maps.Keys(bySlot)))
				for slot, tag := range bySlot {
					if !has(tb.dir.Load().bucket(tag), tag, slot) {
						t.Fatalf("a probe for tag %x does not come to slot %d", tag, slot)
					}
				}
				if got := slots(tb.dir.Load()); !maps.Equal(got, bySlot) {
					t.Fatalf("slots and tags %v, want %v", got, bySlot)
				}
				if old != nil && !maps.Equal(slots(old), held) {
					t.Fatalf("a frozen table changed: %v, want %v", slots(old), held)
				}
			},
			"insert": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "count") {
					tag := tag.Draw(t, "tag")
					tb.insert(tag, next, w)
					bySlot[next] = tag
					next++
				}
			},
			"remove": func(t *rapid.T) {
				withSome(t, func(slot uint32) {
					tb.remove(bySlot[slot], slot, w)
					delete(bySlot, slot)
				})
			},
			"relabel": func(t *rapid.T) {
				withSome(t, func(slot uint32) {
					tb.relabel(bySlot[slot], slot, next, w)
					bySlot[next] = bySlot[slot]
					delete(bySlot, slot)
					next++
				})
			},
			"rebuild": func(t *rapid.T) { tb.rebuild(func(slot uint32) uint32 { return slot }, w) },
			"freeze": func(t *rapid.T) {
				old, held = tb.dir.Load(), maps.Clone(bySlot)
				w.barrier = w.now
				w.now++
			},
		})
	})
}

// has probes as find does.
func has(b *bucket, tag, slot uint32) bool {
	for at := tag & b.mask(); ; at = (at + 1) & b.mask() {
		g := &b.groups[at]
		for m := g.match(tag); m != 0; m &= m - 1 {
			if i := entry(m); g.tags[i] == tag && g.slots[i] == slot {
				return true
			}
		}
		if !g.full() {
			return false
		}
	}
}
