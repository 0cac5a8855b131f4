package workqueue

import (
	"cmp"
	"container/heap"
	"slices"
)

// spareLevels is how many empty levels are kept for the next item of their priority.
const spareLevels = 16

// level holds the ready items of one priority, in order of arrival.
type level[T comparable] struct {
	entryList[T]
	priority int
	index    int // place in readyItems.heap
}

// readyItems are the items that Get may take: a FIFO per priority. The heap changes only when a level fills or empties.
type readyItems[T comparable] struct {
	len    int
	levels map[int]*level[T] // by priority; some may be empty
	heap   levelHeap[T]      // the levels that are not empty, the highest priority at the root
}

func (r *readyItems[T]) push(e *entry[T]) {
	l := r.levels[e.priority]
	if l == nil {
		l = &level[T]{priority: e.priority}
		r.levels[e.priority] = l
	}
	if l.len == 0 {
		heap.Push(&r.heap, l)
	}
	l.pushBack(e)
	e.level = l
	r.len++
}

// pop takes the oldest item of the highest priority. There must be one.
func (r *readyItems[T]) pop() *entry[T] {
	e := r.heap[0].head
	r.remove(e)
	return e
}

func (r *readyItems[T]) remove(e *entry[T]) {
	l := e.level
	l.remove(e)
	e.level = nil
	r.len--
	if l.len > 0 {
		return
	}
	heap.Remove(&r.heap, l.index)
	if len(r.levels) > spareLevels {
		delete(r.levels, l.priority)
	}
}

// raise gives e a higher priority: it joins that level at the end. A lower or equal one changes nothing.
func (r *readyItems[T]) raise(e *entry[T], priority int) {
	if priority <= e.priority {
		return
	}
	r.remove(e)
	e.priority = priority
	r.push(e)
}

// items copies out what is ready, in the order of pop.
func (r *readyItems[T]) items() []T {
	levels := slices.SortedFunc(slices.Values(r.heap), func(a, b *level[T]) int { return cmp.Compare(b.priority, a.priority) })
	items := make([]T, 0, r.len)
	for _, l := range levels {
		items = l.appendItems(items)
	}
	return items
}

// levelHeap is a heap.Interface.
type levelHeap[T comparable] []*level[T]

func (h levelHeap[T]) Len() int           { return len(h) }
func (h levelHeap[T]) Less(i, j int) bool { return h[i].priority > h[j].priority }

func (h levelHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *levelHeap[T]) Push(x any) {
	l := x.(*level[T])
	l.index = len(*h)
	*h = append(*h, l)
}

func (h *levelHeap[T]) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return l
}
