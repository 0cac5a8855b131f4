package indexer

// index finds objects by the values that a function gives them.
//
//	value ──postings──▶ number ──▶ posts     | – | value, slots | value, slots | …
//	                                                        ▲
//	slot ──▶ filed   | posting, position | …  ──────────────┘     further values: filing.next
//
// The slots of the objects that have a value are its posting. Where each object is filed is remembered. So it can be
// taken out without a search, and without asking the function about an object that has changed since.
type index[T any] struct {
	def      *definition[T]
	postings map[string]uint32 // value → number of its posting
	peak     int               // the largest length of postings since it was made
	posts    column[posting]   // by number; snapshots share it. Number 0 is never given out
	free     []uint32          // numbers to use again
	filed    []filing          // by slot; no snapshot shares it
}

// definition is what stays of an index when Replace makes its content anew.
type definition[T any] struct {
	name  string
	fn    IndexFunc[T]
	ready bool // false while AddIndexers fills the index: written to, but not to be read. Store.mu guards it
}

// posting is a value and the slots of the objects that are filed under it. The zero posting is free.
type posting struct {
	value string
	slots column[uint32]
}

// filing says where an object stands in an index: at which position of which posting. The zero filing is pending:
// nobody has asked for the object's values yet.
type filing struct {
	posting  uint32
	position uint32
	next     *filing // under its next value, nil as a rule
}

// nowhere is the filing of an object that has no values.
var nowhere = filing{position: 1}

// newIndex returns an index in which n objects are pending.
func newIndex[T any](def *definition[T], n int, epoch uint64) *index[T] {
	ix := &index[T]{def: def, postings: map[string]uint32{}, filed: make([]filing, n)}
	ix.posts.push(posting{}, epoch)
	return ix
}

// update files a slot under values instead of those it was filed under, unless they are the same.
func (ix *index[T]) update(slot uint32, values []string, epoch uint64) {
	f, same := &ix.filed[slot], 0
	for f != nil && f.posting != 0 && same < len(values) && ix.posts.at(f.posting).value == values[same] {
		f, same = f.next, same+1
	}
	if (f == nil || f.posting == 0) && same == len(values) && ix.filed[slot] != (filing{}) {
		return
	}
	ix.unfile(slot, epoch)
	ix.file(slot, values, epoch)
	ix.giveBack(epoch)
}

// remove takes slot out of the index and gives its place to last, the last slot in use. They may be the same.
func (ix *index[T]) remove(slot, last uint32, epoch uint64) {
	ix.unfile(slot, epoch)
	if slot != last {
		for f := ix.first(last); f != nil; f = f.next {
			*ix.posts.edit(f.posting, epoch).slots.edit(f.position, epoch) = slot
		}
		ix.filed[slot] = ix.filed[last]
	}
	ix.filed[last] = filing{}
	ix.filed = shrink(ix.filed[:last])
	ix.giveBack(epoch)
}

// first returns the first filing of a slot, nil if it is filed under no value.
func (ix *index[T]) first(slot uint32) *filing {
	if f := &ix.filed[slot]; f.posting != 0 {
		return f
	}
	return nil
}

// file puts a slot that stands nowhere under values, which must not repeat.
func (ix *index[T]) file(slot uint32, values []string, epoch uint64) {
	f := &ix.filed[slot]
	*f = nowhere
	for i, value := range values {
		if i > 0 {
			f.next = new(filing)
			f = f.next
		}
		f.posting, f.position = ix.fileUnder(value, slot, epoch)
	}
	ix.peak = max(ix.peak, len(ix.postings))
}

// fileUnder puts slot at the end of the posting of one value.
func (ix *index[T]) fileUnder(value string, slot uint32, epoch uint64) (number, position uint32) {
	number, ok := ix.postings[value]
	if !ok {
		if last := len(ix.free) - 1; last >= 0 {
			number, ix.free = ix.free[last], ix.free[:last]
		} else {
			number = ix.posts.push(posting{}, epoch)
		}
		ix.posts.edit(number, epoch).value = value
		ix.postings[value] = number
	}
	return number, ix.posts.edit(number, epoch).slots.push(slot, epoch)
}

// unfile takes a slot out of all its postings. The last slot of a posting moves into the gap, which its filing notes.
func (ix *index[T]) unfile(slot uint32, epoch uint64) {
	for gap := ix.first(slot); gap != nil; gap = gap.next {
		p := ix.posts.edit(gap.posting, epoch)
		moved := *p.slots.at(uint32(p.slots.len - 1))
		*p.slots.edit(gap.position, epoch) = moved
		f := &ix.filed[moved]
		for f.posting != gap.posting {
			f = f.next
		}
		f.position = gap.position
		p.slots.pop(epoch)
		if p.slots.len == 0 {
			delete(ix.postings, p.value)
			*p = posting{}
			ix.free = append(ix.free, gap.posting)
		}
	}
}

// giveBack makes the index anew if its map is mostly empty.
func (ix *index[T]) giveBack(epoch uint64) {
	if !mostlyEmpty(len(ix.postings), ix.peak) || ix.peak*16 <= len(ix.filed) {
		return
	}
	next := newIndex(ix.def, len(ix.filed), epoch)
	for slot, filed := range ix.filed {
		var values []string
		for f := ix.first(uint32(slot)); f != nil; f = f.next {
			values = append(values, ix.posts.at(f.posting).value)
		}
		if filed != (filing{}) {
			next.file(uint32(slot), values, epoch)
		}
	}
	*ix = *next
}
