package indexer

import (
	"hash/maphash"
	"math"
	"slices"
)

// definition is an index's name and function. Its address is its identity.
type definition[T any] struct {
	name string
	fn   IndexFunc[T]
}

// filing says where one object stands in one index, so that an update need not ask the index function again where the
// old version was filed.
type filing struct {
	value uint32 // nothing, pending, many, or the id of the one value plus one
	pos   uint32 // in that value's posting
}

const (
	nothing = 0
	pending = math.MaxUint32     // AddIndexers has not come to this object yet
	many    = math.MaxUint32 - 1 // two or more values: see index.many
)

// index is one index of a store. The store's mutex guards it; snapshots share the chunks of table and posts.
type index[T any] struct {
	def   *definition[T]
	ready bool // false while AddIndexers still fills it: written to, but not to be read
	seed  maphash.Seed

	table table         // value → id
	posts vec[*posting] // by id; nil for an id in free
	ids   uint32        // ids given out so far
	free  []uint32      // ids to use again

	// Only writers use these, so no snapshot shares them.
	filed []filing            // by slot
	many  map[uint32][]filing // by slot, of objects with two or more values
	peak  int                 // size of many since it was last made
	slab  []posting           // the next postings, during a Replace
}

func newIndex[T any](def *definition[T], seed maphash.Seed, epoch uint64) *index[T] {
	ix := &index[T]{def: def, seed: seed}
	ix.table.init(1, epoch)
	ix.posts.initSized(0, epoch)
	return ix
}

func tagOfValue(seed maphash.Seed, value string) uint32 {
	return uint32(maphash.String(seed, value) >> 32)
}

// findValue looks value up in frozen or locked parts of an index.
func findValue(d *directory, posts *spine[*posting], value string, tag uint32) (id uint32, p *posting) {
	groups := d.bucket(tag).groups
	mask := uint32(len(groups) - 1)
	for at := tag & mask; ; at = (at + 1) & mask {
		g := &groups[at]
		for m := g.match(tag); m != 0; m &= m - 1 {
			if i := entry(m); g.tags[i] == tag {
				if p = *posts.at(g.slots[i]); p.value == value {
					return g.slots[i], p
				}
			}
		}
		if !g.full() {
			return 0, nil
		}
	}
}

// add files a slot that has just come into use.
func (ix *index[T]) add(slot uint32, values []string, w *clock) {
	ix.filed = append(ix.filed, filing{})
	ix.file(slot, values, w)
}

// update files a slot under values instead of those it was filed under, unless they are the same.
func (ix *index[T]) update(slot uint32, values []string, w *clock) (changed bool) {
	if ix.filedUnder(slot, values) {
		return false
	}
	ix.unfile(slot, w)
	ix.file(slot, values, w)
	return true
}

func (ix *index[T]) filedUnder(slot uint32, values []string) bool {
	f := ix.filed[slot]
	switch f.value {
	case nothing:
		return len(values) == 0
	case pending:
		return false
	case many:
		list := ix.many[slot]
		return slices.EqualFunc(list, values, func(f filing, v string) bool { return ix.valueOf(f) == v })
	}
	return len(values) == 1 && ix.valueOf(f) == values[0]
}

func (ix *index[T]) valueOf(f filing) string { return (*ix.posts.at(f.value - 1)).value }

// remove takes slot out of the index and gives its place to last, the last slot in use (perhaps slot itself).
func (ix *index[T]) remove(slot, last uint32, w *clock) {
	ix.unfile(slot, w)
	if f := ix.filed[last]; slot != last {
		switch f.value {
		case nothing, pending:
		case many:
			list := ix.many[last]
			for _, f := range list {
				ix.own(f.value-1, w).set(f.pos, slot, w)
			}
			delete(ix.many, last)
			ix.many[slot] = list
		default:
			ix.own(f.value-1, w).set(f.pos, slot, w)
		}
		ix.filed[slot] = f
	}
	ix.filed[last] = filing{}
	ix.filed = ix.filed[:last]
	if c := cap(ix.filed); c > chunkLen && len(ix.filed)*4 < c {
		ix.filed = append(make([]filing, 0, c/2), ix.filed...)
	}
}

// file puts a slot that stands nowhere under values, which must not repeat.
func (ix *index[T]) file(slot uint32, values []string, w *clock) {
	switch len(values) {
	case 0:
		ix.filed[slot] = filing{}
	case 1:
		ix.filed[slot] = ix.fileUnder(values[0], slot, w)
	default:
		list := make([]filing, len(values))
		for i, v := range values {
			list[i] = ix.fileUnder(v, slot, w)
		}
		ix.setMany(slot, list)
	}
}

func (ix *index[T]) setMany(slot uint32, list []filing) {
	if ix.many == nil {
		ix.many = map[uint32][]filing{}
	}
	ix.many[slot] = list
	ix.peak = max(ix.peak, len(ix.many))
	ix.filed[slot] = filing{value: many}
}

func (ix *index[T]) fileUnder(value string, slot uint32, w *clock) filing {
	id := ix.idOf(value, w)
	return filing{value: id + 1, pos: ix.own(id, w).push(slot, w)}
}

// idOf returns the id of a value, with an empty posting if nothing was filed under it.
func (ix *index[T]) idOf(value string, w *clock) uint32 {
	tag := tagOfValue(ix.seed, value)
	id, p := findValue(ix.table.dir.Load(), ix.posts.sp.Load(), value, tag)
	if p != nil {
		return id
	}
	p = ix.newPosting()
	p.epoch, p.value = w.now, value
	if n := len(ix.free); n > 0 {
		id, ix.free = ix.free[n-1], ix.free[:n-1]
		ix.posts.set(id, p, w)
	} else {
		id = ix.ids
		ix.ids++
		ix.posts.push(id, p, w)
	}
	ix.table.insert(tag, id, w)
	return id
}

// own returns the posting of a value, copied if a snapshot shares it.
func (ix *index[T]) own(id uint32, w *clock) *posting {
	p := *ix.posts.at(id)
	if w.shares(p.epoch) {
		p = p.copyFor(w)
		ix.posts.set(id, p, w)
	}
	return p
}

// unfile takes a slot out of all its postings.
func (ix *index[T]) unfile(slot uint32, w *clock) {
	f := ix.filed[slot]
	ix.filed[slot] = filing{}
	switch f.value {
	case nothing, pending:
	case many:
		list := ix.many[slot]
		delete(ix.many, slot)
		for _, f := range list {
			ix.unfileOne(f, w)
		}
		ix.shrinkMany()
	default:
		ix.unfileOne(f, w)
	}
}

// unfileOne fills the gap with the posting's last slot.
func (ix *index[T]) unfileOne(f filing, w *clock) {
	id := f.value - 1
	p := ix.own(id, w)
	if last := p.n - 1; f.pos != last {
		moved := p.at(last)
		p.set(f.pos, moved, w)
		ix.reposition(moved, f)
	}
	p.pop()
	if p.n == 0 {
		ix.table.remove(tagOfValue(ix.seed, p.value), id, w)
		ix.posts.set(id, nil, w)
		ix.free = append(ix.free, id)
		*p = posting{}
	}
}

// reposition notes that slot has moved, in the posting of to.value, to to.pos.
func (ix *index[T]) reposition(slot uint32, to filing) {
	if f := &ix.filed[slot]; f.value != many {
		f.pos = to.pos
		return
	}
	list := ix.many[slot]
	for i := range list {
		if list[i].value == to.value {
			list[i].pos = to.pos
			return
		}
	}
}
