package workqueue

import "slices"

// level holds the ready items of one priority, in order of arrival.
type level[T comparable] struct {
	entryList[T]
	priority int
}

// readyItems are the items that Get may take: a FIFO per priority.
type readyItems[T comparable] struct {
	len int
	// Invariant: the levels are sorted, the lowest priority first, and none is empty.
	levels []level[T]
}

// search returns the index of the level of a priority, or where it belongs if there is none.
func (r *readyItems[T]) search(priority int) int {
	i := len(r.levels)
	for i > 0 && r.levels[i-1].priority >= priority {
		i--
	}
	return i
}

func (r *readyItems[T]) push(e *entry[T]) {
	i := r.search(e.priority)
	if i == len(r.levels) || r.levels[i].priority != e.priority {
		r.levels = slices.Insert(r.levels, i, level[T]{priority: e.priority})
	}
	r.levels[i].pushBack(e)
	r.len++
}

// pop takes the oldest item of the highest priority. There must be one.
func (r *readyItems[T]) pop() *entry[T] {
	e := r.levels[len(r.levels)-1].head
	r.remove(e)
	return e
}

func (r *readyItems[T]) remove(e *entry[T]) {
	i := r.search(e.priority)
	r.levels[i].remove(e)
	if r.levels[i].head == nil {
		r.levels = slices.Delete(r.levels, i, i+1)
	}
	r.len--
}

// raise gives e a higher priority: it joins that level at the end. A lower or equal one changes nothing.
func (r *readyItems[T]) raise(e *entry[T], priority int) {
	if priority > e.priority {
		r.remove(e)
		e.priority = priority
		r.push(e)
	}
}
