package workqueue

// state is a set of bits. An entry in no state, and not delayed either, is not in the map.
type state uint8

const (
	ready      state = 1 << iota // waits to be taken by Get
	processing                   // taken by Get, Done not yet called
	dirty                        // added again while processing: back to ready at Done. Invariant: dirty implies processing
)

// entry is all that the queue knows of one item, reached by one map lookup. The state client-go keeps in three sets and a
// second map for the delays are bits and an index here.
type entry[T comparable] struct {
	item T
	// next and prev link the list that the entry is in: a level of the ready items, the items in processing, or (next only)
	// the free list. Invariant: an entry is in one list at most, since ready and processing exclude each other.
	next, prev *entry[T]
	// level is the ready list's level, nil if the entry is not in one.
	level *level[T]
	// priority counts for ready and dirty; delayPriority is what the delayed item will have once it is due.
	priority, delayPriority int
	// delayIndex is 1 + the place in the delay heap; 0: not delayed.
	delayIndex int
	// addedAt and startedAt are kept only for metrics.
	addedAt, startedAt instant
	state              state
}

func (e *entry[T]) is(s state) bool { return e.state&s != 0 }

func (e *entry[T]) delayed() bool { return e.delayIndex != 0 }

// list is an intrusive doubly linked list: an entry leaves the middle of it in constant time and nothing is allocated.
type list[T comparable] struct {
	head, tail *entry[T]
	len        int
}

func (l *list[T]) pushBack(e *entry[T]) {
	e.prev = l.tail
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.len++
}

func (l *list[T]) remove(e *entry[T]) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.next, e.prev = nil, nil
	l.len--
}

// spareEntries is how many unused entries a queue always may keep; beyond that, no more than it has in use.
const spareEntries = 1024

// shrinkAbove is the number of entries from which on an emptied map is replaced: Go's maps do not give memory back.
const shrinkAbove = 8 * spareEntries

// table maps items to entries and recycles entries, so that a queue in steady state allocates nothing.
type table[T comparable] struct {
	entries map[T]*entry[T]
	peak    int // most entries since the map was made
	free    *entry[T]
	spares  int
}

// get returns the entry of item, a blank one if there was none.
func (t *table[T]) get(item T) *entry[T] {
	e, ok := t.entries[item]
	if ok {
		return e
	}
	if e = t.free; e != nil {
		t.free, e.next = e.next, nil
		t.spares--
	} else {
		e = new(entry[T])
	}
	t.entries[item] = e
	e.item = item
	t.peak = max(t.peak, len(t.entries))
	return e
}

// release takes e out of the map if nothing is left to be known of it.
func (t *table[T]) release(e *entry[T]) {
	if e.state != 0 || e.delayed() {
		return
	}
	delete(t.entries, e.item)
	// Blank: a spare entry must not keep the item's memory alive.
	*e = entry[T]{next: t.free}
	t.free = e
	t.spares++
	// After a burst the spares go, two for each entry released, until as many are left as are in use.
	for range 2 {
		if t.spares > spareEntries+len(t.entries) {
			gone := t.free
			t.free, gone.next = gone.next, nil
			t.spares--
		}
	}
	if len(t.entries) == 0 && t.peak > shrinkAbove {
		t.entries, t.peak = make(map[T]*entry[T]), 0
	}
}
