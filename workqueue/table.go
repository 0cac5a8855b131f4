package workqueue

import (
	"maps"
	"slices"
)

// spareEntries is how many unused entries a queue may always keep.
const spareEntries = 1024

// table finds an item's entry. It recycles entries, so that a queue in steady state allocates nothing.
//
// Go's maps never shrink. So the table counts in rounds. A round ends when an empty table gets an item, or after
// 2·max(most, spareEntries) releases. If the round's peak was less than a quarter of what is kept, the map and the
// lists are made anew, and the garbage collector gets the spare entries.
type table[T comparable] struct {
	entries map[T]*entry[T]
	free    *entry[T] // unused entries, linked by next
	most    int       // the most entries that the map ever held
	peak    int       // the most entries in this round
	freed   int       // how many entries were released in this round
}

// entryLocked returns the entry of item, a blank one if there was none. A blank one must get a state.
func (q *Queue[T]) entryLocked(item T) *entry[T] {
	t := &q.table
	if e := t.entries[item]; e != nil {
		return e
	}
	if len(t.entries) == 0 {
		q.endRoundLocked()
	}
	e := t.free
	if e == nil {
		e = new(entry[T])
	}
	t.free, e.next = e.next, nil
	e.item = item
	t.entries[item] = e
	t.peak = max(t.peak, len(t.entries))
	return e
}

// releaseLocked forgets e if it has no state any more.
func (q *Queue[T]) releaseLocked(e *entry[T]) {
	if e.state != 0 {
		return
	}
	t := &q.table
	delete(t.entries, e.item)
	*e = entry[T]{next: t.free}
	t.free = e
	if t.freed++; t.freed >= 2*max(t.most, spareEntries) {
		q.endRoundLocked()
	}
}

func (q *Queue[T]) endRoundLocked() {
	t := &q.table
	t.most = max(t.most, t.peak)
	if t.most > spareEntries && t.peak < t.most/4 {
		t.entries, t.free, t.most = maps.Collect(maps.All(t.entries)), nil, t.peak
		q.delayed, q.ready.levels = slices.Concat(q.delayed), slices.Concat(q.ready.levels) // Clone may alias
	}
	t.peak, t.freed = len(t.entries), 0
}
