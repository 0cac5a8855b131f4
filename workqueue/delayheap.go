package workqueue

import (
	"math"
	"time"
)

// instant is a moment on the queue's own monotonic clock: nanoseconds since the queue was made. Half the size of a
// time.Time, compared by one instruction.
type instant int64

// after returns the instant d later, or the end of time if there is no such instant.
func (t instant) after(d time.Duration) instant {
	if sum := t + instant(d); sum >= t {
		return sum
	}
	return math.MaxInt64
}

// deadline is a node of the heap. It carries what is compared, so that sifting does not follow pointers to read it.
type deadline[T comparable] struct {
	due instant
	seq uint64 // breaks ties: of two items due at the same instant, the one promised first
	e   *entry[T]
}

func (d *deadline[T]) before(o *deadline[T]) bool {
	return d.due < o.due || d.due == o.due && d.seq < o.seq
}

// delayHeap is a heap with four children a node (half the levels of a binary one), the next item due at its root.
// Invariant: nodes[i].e.delayIndex == i+1.
type delayHeap[T comparable] struct {
	nodes []deadline[T]
	seq   uint64
	round round
}

const fanOut = 4

// push adds e, which must not be in the heap.
func (h *delayHeap[T]) push(e *entry[T], due instant) {
	h.seq++
	h.nodes = append(h.nodes, deadline[T]{due: due, seq: h.seq, e: e})
	h.round.uses(len(h.nodes))
	h.up(len(h.nodes) - 1)
}

// dueOf returns when e, which must be in the heap, is due.
func (h *delayHeap[T]) dueOf(e *entry[T]) instant { return h.nodes[e.delayIndex-1].due }

// hasten moves e, which must be in the heap, to an earlier deadline. It counts as promised anew.
func (h *delayHeap[T]) hasten(e *entry[T], due instant) {
	i := e.delayIndex - 1
	h.seq++
	h.nodes[i].due, h.nodes[i].seq = due, h.seq
	h.up(i)
}

func (h *delayHeap[T]) remove(e *entry[T]) {
	i, last := e.delayIndex-1, len(h.nodes)-1
	e.delayIndex = 0
	moved := h.nodes[last]
	h.nodes[last] = deadline[T]{}
	h.nodes = h.nodes[:last]
	if i != last {
		h.nodes[i] = moved
		h.down(i)
		if moved.e.delayIndex == i+1 {
			h.up(i)
		}
	}
	if h.round.frees(cap(h.nodes)) {
		h.endRound()
	}
}

func (h *delayHeap[T]) endRound() {
	if fit := h.round.fit(cap(h.nodes)); fit < cap(h.nodes) {
		h.nodes = append(make([]deadline[T], 0, fit), h.nodes...)
	}
	h.round = round{peak: len(h.nodes)}
}

// clear forgets all deadlines, calling gone for each entry after it has left.
func (h *delayHeap[T]) clear(gone func(*entry[T])) {
	nodes := h.nodes
	h.nodes = nil
	for _, n := range nodes {
		n.e.delayIndex = 0
		gone(n.e)
	}
}

func (h *delayHeap[T]) up(i int) {
	n := h.nodes[i]
	for i > 0 {
		parent := (i - 1) / fanOut
		if !n.before(&h.nodes[parent]) {
			break
		}
		h.place(i, h.nodes[parent])
		i = parent
	}
	h.place(i, n)
}

func (h *delayHeap[T]) down(i int) {
	n := h.nodes[i]
	for {
		first := i*fanOut + 1
		if first >= len(h.nodes) {
			break
		}
		least := first
		for c := first + 1; c < min(first+fanOut, len(h.nodes)); c++ {
			if h.nodes[c].before(&h.nodes[least]) {
				least = c
			}
		}
		if !h.nodes[least].before(&n) {
			break
		}
		h.place(i, h.nodes[least])
		i = least
	}
	h.place(i, n)
}

func (h *delayHeap[T]) place(i int, n deadline[T]) {
	h.nodes[i] = n
	n.e.delayIndex = i + 1
}
