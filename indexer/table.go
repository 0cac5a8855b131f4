package indexer

import (
	"iter"
	"math/bits"
	"slices"
	"sync/atomic"
)

const (
	groupLen  = 7
	maxGroups = 32
	// maxDepth bounds the directory if very many tags share their first bits; buckets may then outgrow maxGroups instead.
	maxDepth = 22
)

// bucket is an open-addressing hash table with linear probing, for the tags with the same first depth bits. It is probed
// group by group: an entry of tag t is in group t (modulo the number of groups), or, if that is full, in the next.
// Invariant: 4·n < 3·7·len(groups), so that probing ends.
type bucket struct {
	epoch  uint64
	depth  uint8
	n      int
	groups []group
}

// group is a cache line of entries: tags with their slots. Invariant: those in use come first.
type group struct {
	marks uint64 // byte i is mark(tags[i]), or 0 if entry i is not in use; the last byte is 0
	tags  [groupLen]uint32
	slots [groupLen]uint32
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// mark is a byte of a tag, of bits that as a rule choose neither bucket nor group. It is not 0.
func mark(tag uint32) uint64 { return uint64(tag>>8&0x7f | 0x80) }

// match finds the entries that have tag's mark: it returns the highest bit of their bytes, and seldom that of another entry
// in use. All are compared at once: the length of a search from one to the next is a branch that processors mispredict.
func (g *group) match(tag uint32) uint64 {
	x := g.marks ^ mark(tag)*ones
	return (x - ones) &^ x & highs
}

// entry is the number of the entry for the lowest bit of a match.
func entry(match uint64) int { return bits.TrailingZeros64(match) >> 3 }

func (g *group) len() int { return (71 - bits.LeadingZeros64(g.marks)) >> 3 }

func (g *group) full() bool { return g.marks>>(8*(groupLen-1)) != 0 }

func (g *group) push(tag, slot uint32) {
	i := g.len()
	g.marks |= mark(tag) << (8 * i)
	g.tags[i], g.slots[i] = tag, slot
}

// take takes out entry i; the last one takes its place.
func (g *group) take(i int) {
	last := g.len() - 1
	g.tags[i], g.slots[i] = g.tags[last], g.slots[last]
	g.tags[last], g.slots[last] = 0, 0
	g.marks = g.marks&^(0xff<<(8*i)) | g.marks>>(8*last)<<(8*i)
	g.marks &^= 0xff << (8 * last)
}

// directory maps the first depth bits of a tag to a bucket. A bucket that is less deep appears several times in a row.
type directory struct {
	epoch   uint64
	depth   uint8
	shift   uint8 // 32 - depth
	buckets []*bucket
}

func (d *directory) bucket(tag uint32) *bucket { return d.buckets[tag>>(d.shift&31)] }

// table finds slots by hash (extendible hashing: it grows by one bucket at a time, so that no write ever waits for the
// whole table to be moved). It does not see keys: its users compare them.
//
// A bucket never spans two stripes of the store, whence minDepth.
type table struct {
	dir      atomic.Pointer[directory]
	minDepth uint8
}

// groupsFor makes the groups of a bucket that takes n entries and one more.
func groupsFor(n int) []group {
	size := 1
	for size*groupLen*3 <= (n+1)*4 {
		size *= 2
	}
	return make([]group, size)
}

// init makes an empty table. minDepth is at least 1.
func (t *table) init(minDepth uint8, epoch uint64) {
	t.minDepth = minDepth
	t.initFor(nil, epoch)
}

// initFor makes an empty table with room for these tags; the tags of all entries may be given instead.
func (t *table) initFor(tags []uint32, epoch uint64) {
	depth := t.minDepth
	for depth < maxDepth && len(tags)>>depth > maxGroups*groupLen/2 {
		depth++
	}
	d := &directory{epoch: epoch, depth: depth, shift: 32 - depth, buckets: make([]*bucket, 1<<depth)}
	counts := make([]int, len(d.buckets))
	for _, tag := range tags {
		counts[tag>>d.shift]++
	}
	all := make([]bucket, len(d.buckets))
	for i := range d.buckets {
		all[i] = bucket{epoch: epoch, depth: depth, groups: groupsFor(counts[i])}
		d.buckets[i] = &all[i]
	}
	t.dir.Store(d)
}

func (t *table) insert(tag, slot uint32, w *clock) {
	for {
		b := t.dir.Load().bucket(tag)
		if (b.n+1)*4 < len(b.groups)*groupLen*3 {
			t.own(b, tag, w).put(tag, slot)
			return
		}
		if len(b.groups) < maxGroups || b.depth == maxDepth {
			t.replace(b.resized(len(b.groups)*2, w.now), tag, w)
		} else {
			t.split(b, tag, w)
		}
	}
}

// remove takes out an entry that is there.
func (t *table) remove(tag, slot uint32, w *clock) {
	b := t.own(t.dir.Load().bucket(tag), tag, w)
	b.take(b.position(tag, slot))
	if size := len(b.groups); size > 1 && b.n < size {
		t.replace(b.resized(size/2, w.now), tag, w)
	}
}

// relabel makes the entry that is there for slot from stand for slot to.
func (t *table) relabel(tag, from, to uint32, w *clock) {
	b := t.own(t.dir.Load().bucket(tag), tag, w)
	g, i := b.position(tag, from)
	b.groups[g].slots[i] = to
}

// sparse tells whether so few entries are left that rebuilt is worth its time.
func (t *table) sparse(n int) bool {
	size := len(t.dir.Load().buckets)
	return size > 1<<t.minDepth && n < size*8
}

// rebuild makes the directory as small as its content allows. slotOf maps old slots to new ones.
func (t *table) rebuild(slotOf func(uint32) uint32, w *clock) {
	var last *bucket
	var tags, slots []uint32
	for _, b := range t.dir.Load().buckets {
		if b == last {
			continue
		}
		last = b
		for tag, slot := range b.all() {
			tags, slots = append(tags, tag), append(slots, slot)
		}
	}
	t.initFor(tags, w.now)
	for i, tag := range tags {
		t.dir.Load().bucket(tag).put(tag, slotOf(slots[i]))
	}
}

// own returns b, or its copy if a snapshot shares it.
func (t *table) own(b *bucket, tag uint32, w *clock) *bucket {
	if !w.shares(b.epoch) {
		return b
	}
	w.copies++
	next := &bucket{epoch: w.now, depth: b.depth, n: b.n, groups: slices.Clone(b.groups)}
	t.replace(next, tag, w)
	return next
}

// replace points all directory entries for tag's bucket to b.
func (t *table) replace(b *bucket, tag uint32, w *clock) {
	d := t.dir.Load()
	if w.shares(d.epoch) {
		d = &directory{epoch: w.now, depth: d.depth, shift: d.shift, buckets: slices.Clone(d.buckets)}
		t.dir.Store(d)
	}
	span := uint32(1) << (d.depth - b.depth)
	first := (tag >> d.shift) &^ (span - 1)
	for i := first; i < first+span; i++ {
		d.buckets[i] = b
	}
}

// split puts two buckets in b's place.
func (t *table) split(b *bucket, tag uint32, w *clock) {
	if d := t.dir.Load(); b.depth == d.depth {
		next := &directory{epoch: w.now, depth: d.depth + 1, shift: d.shift - 1, buckets: make([]*bucket, 0, 2*len(d.buckets))}
		for _, old := range d.buckets {
			next.buckets = append(next.buckets, old, old)
		}
		t.dir.Store(next)
	}
	bit := uint32(1) << (31 - b.depth)
	n := 0
	for tag := range b.all() {
		if tag&bit != 0 {
			n++
		}
	}
	halves := [2]*bucket{
		{epoch: w.now, depth: b.depth + 1, groups: groupsFor(b.n - n)},
		{epoch: w.now, depth: b.depth + 1, groups: groupsFor(n)},
	}
	for tag, slot := range b.all() {
		if tag&bit != 0 {
			halves[1].put(tag, slot)
		} else {
			halves[0].put(tag, slot)
		}
	}
	t.replace(halves[0], tag&^bit, w)
	t.replace(halves[1], tag|bit, w)
}

// all iterates over tags and slots.
func (b *bucket) all() iter.Seq2[uint32, uint32] {
	return func(yield func(tag, slot uint32) bool) {
		for i := range b.groups {
			g := &b.groups[i]
			for j := range g.len() {
				if !yield(g.tags[j], g.slots[j]) {
					return
				}
			}
		}
	}
}

func (b *bucket) mask() uint32 { return uint32(len(b.groups) - 1) }

func (b *bucket) put(tag, slot uint32) {
	g := tag & b.mask()
	for b.groups[g].full() {
		g = (g + 1) & b.mask()
	}
	b.groups[g].push(tag, slot)
	b.n++
}

// position finds an entry that is there.
func (b *bucket) position(tag, slot uint32) (at uint32, i int) {
	for at = tag & b.mask(); ; at = (at + 1) & b.mask() {
		g := &b.groups[at]
		for i := range g.len() {
			if g.tags[i] == tag && g.slots[i] == slot {
				return at, i
			}
		}
		if !g.full() {
			panic("indexer: a table lacks a slot that is in use")
		}
	}
}

// take takes out entry i of group hole. Was the group full, an entry that found no place in it moves up from behind, and
// so on in the group where that one was, so that no probe stops short of its goal.
func (b *bucket) take(hole uint32, i int) {
	b.n--
	wasFull := b.groups[hole].full()
	b.groups[hole].take(i)
	for at := hole; wasFull; {
		at = (at + 1) & b.mask()
		g := &b.groups[at]
		wasFull = g.full()
		for i := range g.len() {
			if tag := g.tags[i]; (at-tag)&b.mask() >= (at-hole)&b.mask() {
				b.groups[hole].push(tag, g.slots[i])
				g.take(i)
				hole = at
				break
			}
		}
	}
}

func (b *bucket) resized(size int, epoch uint64) *bucket {
	next := &bucket{epoch: epoch, depth: b.depth, groups: make([]group, size)}
	for tag, slot := range b.all() {
		next.put(tag, slot)
	}
	return next
}
