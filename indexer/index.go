package indexer

import "slices"

// index finds objects by the values that a function gives them.
//
//	value ──postings──▶ number ──▶ posts     | – | value, slots | value, slots | …
//	                                                        ▲
//	slot ──▶ filed   | posting, position | several | …  ────┘     several: see further
//
// The slots of the objects that have a value are its posting. Where each object is filed is remembered. So it can be
// taken out without a search, and without asking the function about an object that has changed since.
type index[T any] struct {
	def   *definition[T]
	ready bool // false while AddIndexers still fills it: written to, but not to be read

	postings map[string]uint32 // value → number of its posting
	posts    column[posting]   // by number; snapshots share it. Number 0 is never given out
	free     []uint32          // numbers to use again

	filed   column[filing]      // by slot; no snapshot shares it
	further map[uint32][]filing // by slot, of objects with two values or more
	peak    int                 // the largest sum of the lengths of postings and further
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

// filing says where an object stands in an index: at which position of which posting.
type filing struct {
	posting  uint32
	position uint32
}

// Instead of the number of a posting, filing.posting may be:
const (
	nowhere = 0           // the object has no value
	several = 1<<32 - 1   // two values or more: see index.further
	pending = several - 1 // AddIndexers has not come to this object yet
)

func newIndex[T any](def *definition[T], epoch uint64) *index[T] {
	ix := &index[T]{def: def, postings: map[string]uint32{}, further: map[uint32][]filing{}}
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
		var one [1]filing
		for _, f := range ix.filings(last, &one) {
			*ix.posts.edit(f.posting, epoch).slots.edit(f.position, epoch) = slot
		}
		*ix.filed.edit(slot, 0) = *ix.filed.at(last)
		if list, ok := ix.further[last]; ok {
			delete(ix.further, last)
			ix.further[slot] = list
		}
	}
	ix.filed.pop(0)
}

// filings returns where slot is filed. If that is one place, one has the memory for it.
func (ix *index[T]) filings(slot uint32, one *[1]filing) []filing {
	switch f := *ix.filed.at(slot); f.posting {
	case nowhere, pending:
		return nil
	case several:
		return ix.further[slot]
	default:
		one[0] = f
		return one[:]
	}
}

func (ix *index[T]) isFiledUnder(slot uint32, values []string) bool {
	var one [1]filing
	return ix.filed.at(slot).posting != pending &&
		slices.EqualFunc(ix.filings(slot, &one), values, func(f filing, value string) bool {
			return ix.posts.at(f.posting).value == value
		})
}

// file puts a slot that stands nowhere under values, which must not repeat.
func (ix *index[T]) file(slot uint32, values []string, epoch uint64) {
	f := filing{posting: nowhere}
	switch len(values) {
	case 0:
	case 1:
		f = ix.fileUnder(values[0], slot, epoch)
	default:
		list := make([]filing, len(values))
		for i, value := range values {
			list[i] = ix.fileUnder(value, slot, epoch)
		}
		ix.further[slot] = list
		f.posting = several
	}
	*ix.filed.edit(slot, 0) = f
	ix.peak = max(ix.peak, len(ix.postings)+len(ix.further))
}

// fileUnder puts slot at the end of the posting of one value.
func (ix *index[T]) fileUnder(value string, slot uint32, epoch uint64) filing {
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
	return filing{number, ix.posts.edit(number, epoch).slots.push(slot, epoch)}
}

// unfile takes a slot out of all its postings.
func (ix *index[T]) unfile(slot uint32, epoch uint64) {
	var one [1]filing
	for _, f := range ix.filings(slot, &one) {
		ix.unfileFrom(f, epoch)
	}
	delete(ix.further, slot)
	*ix.filed.edit(slot, 0) = filing{}
}

// unfileFrom moves the posting's last slot into the gap.
func (ix *index[T]) unfileFrom(gap filing, epoch uint64) {
	p := ix.posts.edit(gap.posting, epoch)
	last := uint32(p.slots.len() - 1)
	if gap.position != last {
		moved := *p.slots.at(last)
		*p.slots.edit(gap.position, epoch) = moved
		ix.reposition(moved, gap)
	}
	p.slots.pop(epoch)
	if last == 0 {
		delete(ix.postings, p.value)
		*p = posting{}
		ix.free = append(ix.free, gap.posting)
	}
}

// reposition notes that slot stands at another position in the posting to.posting: at to.position.
func (ix *index[T]) reposition(slot uint32, to filing) {
	f := ix.filed.edit(slot, 0)
	if f.posting != several {
		*f = to
		return
	}
	list := ix.further[slot]
	for i := range list {
		if list[i].posting == to.posting {
			list[i] = to
		}
	}
}

// remake returns the same index in the memory that it needs.
func (ix *index[T]) remake(epoch uint64) *index[T] {
	next := newIndex(ix.def, epoch)
	next.ready = ix.ready
	var one [1]filing
	var values []string
	for slot := range uint32(ix.filed.len()) {
		values = values[:0]
		for _, f := range ix.filings(slot, &one) {
			values = append(values, ix.posts.at(f.posting).value)
		}
		next.add(slot, values, epoch)
		if ix.filed.at(slot).posting == pending {
			next.filed.edit(slot, 0).posting = pending
		}
	}
	return next
}
