package workqueue

// state is a set of bits. An entry in no state, and not delayed either, is not in the table.
type state uint8

const (
	ready      state = 1 << iota // waits to be taken by Get
	processing                   // taken by Get, Done not yet called
	dirty                        // added again while processing: back to ready at Done. Invariant: dirty implies processing
)

// entry is all that the queue knows of one item, reached by one lookup. The state client-go keeps in three sets and a
// second map for the delays are bits and an index here.
type entry[T comparable] struct {
	item T
	// hash and chain are the table's.
	hash  uint64
	chain *entry[T]
	// next and prev link the list that the entry is in: a level of the ready items, or the items in processing.
	// Invariant: it is in one of them at most, since ready and processing exclude each other.
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
