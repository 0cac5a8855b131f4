package workqueue

import "slices"

// waitingItems are the items that Get may take: a FIFO per priority.
type waitingItems[T comparable] struct {
	len int
	// Invariant: the levels are sorted, the lowest priority first, and none is empty.
	levels []level[T]
}

// level holds the waiting items of one priority, in order of arrival.
type level[T comparable] struct {
	priority int
	items    entryList[T]
}

// search returns the index of the level of a priority, or where it belongs if there is none. Levels are few, and most
// items have the highest priority, so it looks from the end.
func (w *waitingItems[T]) search(priority int) int {
	i := len(w.levels)
	for i > 0 && w.levels[i-1].priority >= priority {
		i--
	}
	return i
}

func (w *waitingItems[T]) push(e *entry[T]) {
	i := w.search(e.priority)
	if i == len(w.levels) || w.levels[i].priority != e.priority {
		w.levels = slices.Insert(w.levels, i, level[T]{priority: e.priority})
	}
	w.levels[i].items.pushBack(e)
	w.len++
}

// pop takes the oldest item of the highest priority. There must be one.
func (w *waitingItems[T]) pop() *entry[T] {
	highest := w.levels[len(w.levels)-1]
	e := highest.items.head
	w.remove(e)
	return e
}

func (w *waitingItems[T]) remove(e *entry[T]) {
	i := w.search(e.priority)
	w.levels[i].items.remove(e)
	if w.levels[i].items.len == 0 {
		w.levels = slices.Delete(w.levels, i, i+1)
	}
	w.len--
}

// raise gives e a higher priority: it joins that level at the end. A lower or equal one changes nothing.
func (w *waitingItems[T]) raise(e *entry[T], priority int) {
	if priority > e.priority {
		w.remove(e)
		e.priority = priority
		w.push(e)
	}
}

// The queue keeps its waiting items by priority, or in the user's Order. lenLocked and the three functions after it
// choose which.
func (q *Queue[T]) lenLocked() int {
	if q.opts.Order != nil {
		return q.opts.Order.Len()
	}
	return q.waiting.len
}

func (q *Queue[T]) pushWaitingLocked(e *entry[T]) {
	if q.opts.Order != nil {
		q.opts.Order.Push(e.item)
	} else {
		q.waiting.push(e)
	}
}

func (q *Queue[T]) popWaitingLocked() *entry[T] {
	if q.opts.Order != nil {
		item := q.opts.Order.Pop()
		return q.entryLocked(item)
	}
	return q.waiting.pop()
}

// raiseWaitingLocked is for an item that is added while it waits.
func (q *Queue[T]) raiseWaitingLocked(e *entry[T], priority int) {
	if q.opts.Order != nil {
		e.priority = max(e.priority, priority)
		q.opts.Order.Touch(e.item)
	} else {
		q.waiting.raise(e, priority)
	}
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
