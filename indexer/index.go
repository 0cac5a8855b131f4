package indexer

// index is an inverted index: it finds objects by the values that a function gives them. Each value has a posting list,
// the slots of its objects. Each object has a posting for each of its values: its place in that list. So an object can
// leave its lists without a search, and without asking the function about an object that has changed since.
//
//	Three objects, indexed by colour:      numbers        lists              postings
//	slot 0: a, red                         "red"  ─▶ 1    1: "red",  [0 2]   slot 0: list 1, position 0
//	slot 1: b, blue                        "blue" ─▶ 2    2: "blue", [1]     slot 1: list 2, position 0
//	slot 2: c, red                                                           slot 2: list 1, position 1
//
// When a is deleted, c moves to slot 0 of the store and to position 0 of list 1, which is then [0].
type index[T any] struct {
	def      *definition[T]
	numbers  map[string]uint32   // value → number of its posting list
	lists    column[postingList] // by number; shared with snapshots. List 0 stays empty. Only giveBack makes it shorter
	free     []uint32            // numbers to use again
	postings []posting           // the first one of each object, by slot; no snapshot shares it
}

// definition is what stays of an index when Replace makes its content anew.
type definition[T any] struct {
	name  string
	fn    IndexFunc[T]
	ready bool // false while AddIndexers fills the index: written to, but not to be read. Store.mu guards it
}

// postingList is a value and the slots of its objects. The zero list is free.
type postingList struct {
	value string
	slots column[uint32]
}

// posting is the place of an object in a posting list. An object's first posting also tells its state in the index:
//
//	posting{}       pending: the function's values for this object have not come yet
//	noValues        indexed, but the function gave no value
//	list is not 0   indexed under one value, or under more by next
type posting struct {
	list     uint32
	position uint32
	next     *posting // for the next value, nil as a rule
}

var noValues = posting{position: 1}

// newIndex returns an index in which n objects are pending.
func newIndex[T any](def *definition[T], n int, epoch uint64) *index[T] {
	ix := &index[T]{def: def, numbers: map[string]uint32{}, postings: make([]posting, n)}
	ix.lists.push(postingList{}, epoch)
	return ix
}

// update indexes a slot under values instead of those of its postings, unless they are the same.
func (ix *index[T]) update(slot uint32, values []string, epoch uint64) {
	p, same := &ix.postings[slot], 0
	for p != nil && p.list != 0 && same < len(values) && ix.lists.at(p.list).value == values[same] {
		p, same = p.next, same+1
	}
	if (p == nil || p.list == 0) && same == len(values) && ix.postings[slot] != (posting{}) {
		return
	}
	ix.removePostings(slot, epoch)
	ix.addPostings(slot, values, epoch)
	ix.giveBack(epoch)
}

// remove takes slot out of the index and gives its place to last, the last slot in use. They may be the same.
func (ix *index[T]) remove(slot, last uint32, epoch uint64) {
	ix.removePostings(slot, epoch)
	if slot != last {
		for p := ix.first(last); p != nil; p = p.next {
			*ix.lists.edit(p.list, epoch).slots.edit(p.position, epoch) = slot
		}
		ix.postings[slot] = ix.postings[last]
	}
	ix.postings[last] = posting{}
	ix.postings = shrink(ix.postings[:last])
	ix.giveBack(epoch)
}

// first returns the first posting of a slot, nil if it has none.
func (ix *index[T]) first(slot uint32) *posting {
	if p := &ix.postings[slot]; p.list != 0 {
		return p
	}
	return nil
}

// addPostings indexes a slot without postings under values, which must not repeat.
func (ix *index[T]) addPostings(slot uint32, values []string, epoch uint64) {
	p := &ix.postings[slot]
	*p = noValues
	for i, value := range values {
		if i > 0 {
			p.next = new(posting)
			p = p.next
		}
		p.list, p.position = ix.addPosting(value, slot, epoch)
	}
}

// addPosting puts slot at the end of the posting list of one value.
func (ix *index[T]) addPosting(value string, slot uint32, epoch uint64) (number, position uint32) {
	number, ok := ix.numbers[value]
	if !ok {
		if last := len(ix.free) - 1; last >= 0 {
			number, ix.free = ix.free[last], ix.free[:last]
		} else {
			number = ix.lists.push(postingList{}, epoch)
		}
		ix.lists.edit(number, epoch).value = value
		ix.numbers[value] = number
	}
	return number, ix.lists.edit(number, epoch).slots.push(slot, epoch)
}

// removePostings takes a slot out of all its posting lists. The last slot of a list moves into the gap.
func (ix *index[T]) removePostings(slot uint32, epoch uint64) {
	for gap := ix.first(slot); gap != nil; gap = gap.next {
		list := ix.lists.edit(gap.list, epoch)
		moved := *list.slots.at(uint32(list.slots.len - 1))
		*list.slots.edit(gap.position, epoch) = moved
		p := &ix.postings[moved]
		for p.list != gap.list {
			p = p.next
		}
		p.position = gap.position
		list.slots.pop(epoch)
		if list.slots.len == 0 {
			delete(ix.numbers, list.value)
			*list = postingList{}
			ix.free = append(ix.free, gap.list)
		}
	}
}

// giveBack makes the index anew if its map is mostly empty. That takes time for each object, so an index with few lists
// stays as it is.
func (ix *index[T]) giveBack(epoch uint64) {
	if !mostlyEmpty(len(ix.numbers), ix.lists.len) || ix.lists.len*16 <= len(ix.postings) {
		return
	}
	next := newIndex(ix.def, len(ix.postings), epoch)
	for slot, first := range ix.postings {
		var values []string
		for p := ix.first(uint32(slot)); p != nil; p = p.next {
			values = append(values, ix.lists.at(p.list).value)
		}
		if first != (posting{}) {
			next.addPostings(uint32(slot), values, epoch)
		}
	}
	*ix = *next
}
