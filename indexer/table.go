package indexer

import (
	"slices"
	"sync/atomic"
)

const (
	minCells = 8
	maxCells = chunkLen
	// maxDepth bounds the directory if very many tags share their first bits; buckets then outgrow maxCells instead.
	maxDepth = 22
)

// bucket is an open-addressing hash table with linear probing, for the tags with the same first depth bits.
// A cell is 0, or a tag and a slot (plus one). Invariant: 4·n < 3·len(cells), so that probing ends.
type bucket struct {
	epoch uint64
	depth uint8
	n     int
	cells []uint64
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

func cellOf(tag, slot uint32) uint64 { return uint64(tag)<<32 | uint64(slot+1) }

// cellsFor is the size of a bucket that takes n entries and one more.
func cellsFor(n int) int {
	size := minCells
	for size*3 <= (n+1)*4 {
		size *= 2
	}
	return size
}

// init makes an empty table. minDepth is at least 1.
func (t *table) init(minDepth uint8, epoch uint64) {
	t.minDepth = minDepth
	t.initFor(nil, epoch)
}

// initFor makes an empty table with room for these tags; the tags of all cells may be given instead.
func (t *table) initFor(tags []uint32, epoch uint64) {
	depth := t.minDepth
	for depth < maxDepth && len(tags)>>depth > maxCells/2 {
		depth++
	}
	d := &directory{epoch: epoch, depth: depth, shift: 32 - depth, buckets: make([]*bucket, 1<<depth)}
	counts := make([]int, len(d.buckets))
	for _, tag := range tags {
		counts[tag>>d.shift]++
	}
	all := make([]bucket, len(d.buckets))
	for i := range d.buckets {
		all[i] = bucket{epoch: epoch, depth: depth, cells: make([]uint64, cellsFor(counts[i]))}
		d.buckets[i] = &all[i]
	}
	t.dir.Store(d)
}

func (t *table) insert(tag, slot uint32, w *clock) {
	for {
		b := t.dir.Load().bucket(tag)
		if (b.n+1)*4 < len(b.cells)*3 {
			t.own(b, tag, w).put(cellOf(tag, slot))
			return
		}
		if len(b.cells) < maxCells || b.depth == maxDepth {
			t.replace(b.resized(len(b.cells)*2, w.now), tag, w)
		} else {
			t.split(b, tag, w)
		}
	}
}

// remove takes out a cell that is there.
func (t *table) remove(tag, slot uint32, w *clock) {
	b := t.own(t.dir.Load().bucket(tag), tag, w)
	b.take(b.position(cellOf(tag, slot)))
	if size := len(b.cells); size > minCells && b.n*8 < size {
		t.replace(b.resized(size/2, w.now), tag, w)
	}
}

// relabel makes the cell that is there for slot from stand for slot to.
func (t *table) relabel(tag, from, to uint32, w *clock) {
	b := t.own(t.dir.Load().bucket(tag), tag, w)
	b.cells[b.position(cellOf(tag, from))] = cellOf(tag, to)
}

// sparse tells whether so few entries are left that rebuilt is worth its time.
func (t *table) sparse(n int) bool {
	size := len(t.dir.Load().buckets)
	return size > 1<<t.minDepth && n < size*8
}

// rebuild makes the directory as small as its content allows. slotOf maps old slots to new ones.
func (t *table) rebuild(slotOf func(uint32) uint32, w *clock) {
	var last *bucket
	var cells []uint64
	var tags []uint32
	for _, b := range t.dir.Load().buckets {
		if b == last {
			continue
		}
		last = b
		for _, c := range b.cells {
			if c != 0 {
				cells, tags = append(cells, c), append(tags, uint32(c>>32))
			}
		}
	}
	t.initFor(tags, w.now)
	for i, c := range cells {
		t.dir.Load().bucket(tags[i]).put(cellOf(tags[i], slotOf(uint32(c)-1)))
	}
}

// own returns b, or its copy if a snapshot shares it.
func (t *table) own(b *bucket, tag uint32, w *clock) *bucket {
	if !w.shares(b.epoch) {
		return b
	}
	w.copies++
	next := &bucket{epoch: w.now, depth: b.depth, n: b.n, cells: slices.Clone(b.cells)}
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
	ones := 0
	for _, c := range b.cells {
		if c != 0 && uint32(c>>32)&bit != 0 {
			ones++
		}
	}
	halves := [2]*bucket{
		{epoch: w.now, depth: b.depth + 1, cells: make([]uint64, cellsFor(b.n-ones))},
		{epoch: w.now, depth: b.depth + 1, cells: make([]uint64, cellsFor(ones))},
	}
	for _, c := range b.cells {
		if c == 0 {
			continue
		}
		if uint32(c>>32)&bit != 0 {
			halves[1].put(c)
		} else {
			halves[0].put(c)
		}
	}
	t.replace(halves[0], tag&^bit, w)
	t.replace(halves[1], tag|bit, w)
}

func (b *bucket) put(cell uint64) {
	mask := uint32(len(b.cells) - 1)
	i := uint32(cell>>32) & mask
	for b.cells[i] != 0 {
		i = (i + 1) & mask
	}
	b.cells[i] = cell
	b.n++
}

func (b *bucket) position(cell uint64) uint32 {
	mask := uint32(len(b.cells) - 1)
	i := uint32(cell>>32) & mask
	for b.cells[i] != cell {
		if b.cells[i] == 0 {
			panic("indexer: a table lacks a slot that is in use")
		}
		i = (i + 1) & mask
	}
	return i
}

// take empties cell i and moves later cells of the same run up, so that no probe stops short of its goal.
func (b *bucket) take(i uint32) {
	mask := uint32(len(b.cells) - 1)
	for j := (i + 1) & mask; b.cells[j] != 0; j = (j + 1) & mask {
		home := uint32(b.cells[j]>>32) & mask
		if (j-home)&mask >= (j-i)&mask {
			b.cells[i] = b.cells[j]
			i = j
		}
	}
	b.cells[i] = 0
	b.n--
}

func (b *bucket) resized(size int, epoch uint64) *bucket {
	next := &bucket{epoch: epoch, depth: b.depth, cells: make([]uint64, size)}
	for _, c := range b.cells {
		if c != 0 {
			next.put(c)
		}
	}
	return next
}
