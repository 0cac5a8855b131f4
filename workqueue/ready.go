package workqueue

import "container/heap"

// spareLevels is how many empty levels are kept for their priority's next item.
const spareLevels = 16

// level holds the ready items of one priority, in order of arrival.
type level[T comparable] struct {
	list[T]
	priority int
	index    int // place in readyItems.heap
}

// readyItems are the items that Get may take: a FIFO per priority. Priority 0, which is nearly everybody's, costs neither a
// map lookup nor a heap operation; another priority costs a heap operation only when its level fills or empties.
type readyItems[T comparable] struct {
	len    int
	normal level[T]          // priority 0; never in levels or heap
	levels map[int]*level[T] // the others by priority
	// heap has the levels that are not empty, the highest priority at the root.
	heap levelHeap[T]
}

func (r *readyItems[T]) push(e *entry[T]) {
	l := &r.normal
	if e.priority != 0 {
		l = r.levelOf(e.priority)
	}
	e.level = l
	l.pushBack(e)
	r.len++
}

func (r *readyItems[T]) levelOf(priority int) *level[T] {
	l := r.levels[priority]
	if l == nil {
		if r.levels == nil {
			r.levels = make(map[int]*level[T])
		}
		l = &level[T]{priority: priority}
		r.levels[priority] = l
	}
	if l.len == 0 {
		heap.Push(&r.heap, l)
	}
	return l
}

// pop takes the oldest item of the highest priority; nil if there is none.
func (r *readyItems[T]) pop() *entry[T] {
	e := r.normal.head
	if len(r.heap) > 0 && (e == nil || r.heap[0].priority > 0) {
		e = r.heap[0].head
	}
	if e != nil {
		r.remove(e)
	}
	return e
}

func (r *readyItems[T]) remove(e *entry[T]) {
	l := e.level
	l.remove(e)
	e.level = nil
	r.len--
	if l == &r.normal || l.len > 0 {
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
