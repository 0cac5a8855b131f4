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
	def   *definition[T]
	ready bool // false while AddIndexers still fills it: written to, but not to be read

	postings map[string]uint32 // value → number of its posting
	peak     int               // the largest length of postings since it was made
	posts    column[posting]   // by number; snapshots share it. Number 0 is never given out
	free     []uint32          // numbers to use again
	filed    column[filing]    // by slot; no snapshot shares it
}

// definition is an index's name and function.
type definition[T any] struct {
	name string
	fn   IndexFunc[T]
}

// posting is a value and the slots of the objects that are filed under it. The zero posting is free.
type posting struct {
	value string
	slots column[uint32]
}

// filing says where an object stands in an index: at which position of which posting. The zero filing: nowhere.
type filing struct {
	posting  uint32
	position uint32
	next     *filing // under its next value, nil as a rule
}

// pending is the filing of an object that AddIndexers has not come to yet.
var pending = filing{position: 1}

func newIndex[T any](def *definition[T], epoch uint64) *index[T] {
	ix := &index[T]{def: def, postings: map[string]uint32{}}
	ix.posts.push(posting{}, epoch)
	return ix
}

// add files an object that has just got the next slot.
func (ix *index[T]) add(slot uint32, values []string, epoch uint64) {
	ix.filed.push(filing{}, 0)
	ix.file(slot, values, epoch)
}

// update files a slot under values instead of those it was filed under, unless they are the same.
func (ix *index[T]) update(slot uint32, values []string, epoch uint64) {
	if !ix.isFiledUnder(slot, values) {
		ix.unfile(slot, epoch)
		ix.file(slot, values, epoch)
	}
}

// remove takes slot out of the index and gives its place to last, the last slot in use. They may be the same.
func (ix *index[T]) remove(slot, last uint32, epoch uint64) {
	ix.unfile(slot, epoch)
	if slot != last {
		for f := ix.first(last); f != nil; f = f.next {
			*ix.posts.edit(f.posting, epoch).slots.edit(f.position, epoch) = slot
		}
		*ix.filed.edit(slot, 0) = *ix.filed.at(last)
	}
	ix.filed.pop(0)
}

// first returns the first filing of a slot, nil if it is filed nowhere.
func (ix *index[T]) first(slot uint32) *filing {
	if f := ix.filed.at(slot); f.posting != 0 {
		return f
	}
	return nil
}

func (ix *index[T]) isFiledUnder(slot uint32, values []string) bool {
	f := ix.first(slot)
	for _, value := range values {
		if f == nil || ix.posts.at(f.posting).value != value {
			return false
		}
		f = f.next
	}
	return f == nil && *ix.filed.at(slot) != pending
}

// file puts a slot that stands nowhere under values, which must not repeat.
func (ix *index[T]) file(slot uint32, values []string, epoch uint64) {
	f := ix.filed.edit(slot, 0)
	*f = filing{}
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

// unfile takes a slot out of all its postings.
func (ix *index[T]) unfile(slot uint32, epoch uint64) {
	for f := ix.first(slot); f != nil; f = f.next {
		ix.unfileFrom(f, epoch)
	}
	*ix.filed.edit(slot, 0) = filing{}
}

// unfileFrom moves the posting's last slot into the gap, and notes where that slot is filed now.
func (ix *index[T]) unfileFrom(gap *filing, epoch uint64) {
	p := ix.posts.edit(gap.posting, epoch)
	last := uint32(p.slots.len() - 1)
	if gap.position != last {
		moved := *p.slots.at(last)
		*p.slots.edit(gap.position, epoch) = moved
		f := ix.filed.edit(moved, 0)
		for f.posting != gap.posting {
			f = f.next
		}
		f.position = gap.position
	}
	p.slots.pop(epoch)
	if last == 0 {
		delete(ix.postings, p.value)
		*p = posting{}
		ix.free = append(ix.free, gap.posting)
	}
}

// remake returns the same index in the memory that it needs.
func (ix *index[T]) remake(epoch uint64) *index[T] {
	next := newIndex(ix.def, epoch)
	next.ready = ix.ready
	for slot := range uint32(ix.filed.len()) {
		var values []string
		for f := ix.first(slot); f != nil; f = f.next {
			values = append(values, ix.posts.at(f.posting).value)
		}
		next.add(slot, values, epoch)
		if *ix.filed.at(slot) == pending {
			*next.filed.edit(slot, 0) = pending
		}
	}
	return next
}
