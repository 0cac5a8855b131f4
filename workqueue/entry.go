package workqueue

import (
	"maps"
	"time"
)

// state is where an item is in its life. See the picture in doc.go.
type state uint8

const (
	idle            state = iota // not due and with no worker. It is delayed, or the entry is about to be released.
	waiting                      // due; the next Get may take it
	processing                   // a worker took it and has not called Done
	processingDirty              // became due again meanwhile: waiting again at Done
)

// entry is all that the queue knows of one item.
type entry[T comparable] struct {
	item     T
	state    state
	priority int // of an item that is waiting or dirty; it keeps it when it is taken

	// next and prev link the one list that the entry is in: a level of the waiting items, or the items in processing.
	next, prev *entry[T]

	// delayed items are in the delay heap, whatever their state. The fields below count only for them.
	delayed       bool
	deadline      time.Time
	seq           uint64 // of two equal deadlines the lower seq comes first
	delayIndex    int    // place in the heap
	delayPriority int    // priority once the item is due

	// Only with metrics.
	addedAt, startedAt time.Time
}

// spareEntries is for how many items a queue keeps memory when it is empty.
const spareEntries = 16 << 10

// entryLocked returns the entry of item, an idle one if there was none. The caller gives that a state or a delay, since
// nothing else would ever release it.
func (q *Queue[T]) entryLocked(item T) *entry[T] {
	e := q.entries[item]
	if e != nil {
		return e
	}
	last := len(q.spare) - 1
	if last >= 0 {
		e = q.spare[last]
		q.spare = q.spare[:last]
	} else {
		e = new(entry[T])
	}
	e.item = item
	q.entries[item] = e
	q.largest = max(q.largest, len(q.entries))
	return e
}

// releaseLocked forgets e if it is neither due, with a worker nor delayed.
func (q *Queue[T]) releaseLocked(e *entry[T]) {
	if e.state != idle || e.delayed {
		return
	}
	delete(q.entries, e.item)
	if len(q.spare) < spareEntries {
		*e = entry[T]{}
		q.spare = append(q.spare, e)
	}
	if q.largest > spareEntries && len(q.entries) < q.largest/8 {
		q.shrinkLocked()
	}
}

// shrinkLocked copies what is left of a burst, since Go's maps and slices never shrink by themselves.
func (q *Queue[T]) shrinkLocked() {
	q.entries = maps.Collect(maps.All(q.entries))
	q.largest = len(q.entries)
	// Appended to nil: slices.Clone of an empty slice keeps the array.
	q.delayed = append(delayHeap[T](nil), q.delayed...)
	q.waiting.levels = append([]level[T](nil), q.waiting.levels...)
}

// entryList is a doubly linked list whose links are in the entries. So nothing is allocated, and an entry leaves the
// middle in constant time.
type entryList[T comparable] struct {
	head, tail *entry[T]
	len        int
}

func (l *entryList[T]) pushBack(e *entry[T]) {
	e.prev = l.tail
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.len++
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
	l.len--
}

// appendTo appends the list's items to items, the first one first.
func (l *entryList[T]) appendTo(items []T) []T {
	for e := l.head; e != nil; e = e.next {
		items = append(items, e.item)
	}
	return items
}
