package workqueue

import "time"

// state is a set of bits. An entry without any bit is not in the table.
type state uint8

const (
	ready      state = 1 << iota // waits for Get
	processing                   // taken by Get, Done not yet called
	dirty                        // added again while processing: ready again at Done
	delayed                      // will be due later; goes with any of the others
)

// entry is all that the queue knows of one item. One map lookup finds it.
//
// Invariant: ready and processing exclude each other. dirty implies processing.
type entry[T comparable] struct {
	item  T
	state state
	// next and prev link the one list that the entry is in: a level of the ready items, or the items in processing.
	next, prev *entry[T]
	// priority counts while the entry is ready or dirty, delayPriority when its deadline has passed.
	priority, delayPriority int
	// due is the deadline of a delayed entry. Of two equal ones the lower seq comes first.
	due time.Time
	seq uint64
	// delayIndex is the place of a delayed entry in the heap.
	delayIndex int
	// addedAt and startedAt are kept only for metrics.
	addedAt, startedAt time.Time
}

func (e *entry[T]) is(s state) bool { return e.state&s != 0 }

// entryList is a doubly linked list whose links are in the entries. Nothing is allocated, and an entry leaves the
// middle in constant time.
type entryList[T comparable] struct {
	head, tail *entry[T]
}

func (l *entryList[T]) pushBack(e *entry[T]) {
	e.prev = l.tail
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
}

func (l *entryList[T]) remove(e *entry[T]) {
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
}

// items appends the list's items, the first one first.
func (l *entryList[T]) items(to []T) []T {
	for e := l.head; e != nil; e = e.next {
		to = append(to, e.item)
	}
	return to
}
