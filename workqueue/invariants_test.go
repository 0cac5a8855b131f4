package workqueue

import (
	"fmt"
	"math/bits"
)

// checkInvariants returns what is wrong with the queue's inside, nil if nothing is.
func (q *Queue[T]) checkInvariants() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, check := range []func() error{q.checkTable, q.checkReady, q.checkProcessing, q.checkDelayed, q.checkSignals} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue[T]) checkTable() error {
	t, n := &q.table, 0
	if bits.OnesCount(uint(len(t.buckets))) != 1 {
		return fmt.Errorf("%d buckets", len(t.buckets))
	}
	for i, e := range t.buckets {
		for ; e != nil; e = e.chain {
			n++
			switch {
			case e.hash != t.hash(e.item) || e.hash&uint64(len(t.buckets)-1) != uint64(i):
				return fmt.Errorf("%v is in the wrong bucket", e.item)
			case t.find(e.item, e.hash) != e:
				return fmt.Errorf("%v is there twice", e.item)
			case e.state == 0 && !e.delayed():
				return fmt.Errorf("%v is in no state", e.item)
			case e.is(ready) && e.is(processing), e.is(dirty) && !e.is(processing):
				return fmt.Errorf("%v has state %b", e.item, e.state)
			case q.merge && e.delayed() && e.is(ready|dirty):
				return fmt.Errorf("%v is due twice in a queue that merges", e.item)
			}
		}
	}
	spares := 0
	for e := t.free; e != nil; e = e.chain {
		if *e != (entry[T]{chain: e.chain}) {
			return fmt.Errorf("spare entry is not blank: %+v", *e)
		}
		spares++
	}
	if n != t.len || spares != t.spares {
		return fmt.Errorf("%d entries and %d spares, counted as %d and %d", n, spares, t.len, t.spares)
	}
	return nil
}

func (l *list[T]) check(is func(*entry[T]) bool) error {
	n := 0
	var prev *entry[T]
	for e := l.head; e != nil; prev, e = e, e.next {
		if n++; e.prev != prev || !is(e) {
			return fmt.Errorf("%v does not belong where it is in its list", e.item)
		}
	}
	if l.tail != prev || l.len != n {
		return fmt.Errorf("list of %d is counted as %d, or ends in the wrong place", n, l.len)
	}
	return nil
}

func (q *Queue[T]) count(is func(*entry[T]) bool) int {
	n := 0
	for _, e := range q.table.buckets {
		for ; e != nil; e = e.chain {
			if is(e) {
				n++
			}
		}
	}
	return n
}

func (q *Queue[T]) checkReady() error {
	if n := q.count(func(e *entry[T]) bool { return e.is(ready) }); n != q.lenLocked() {
		return fmt.Errorf("%d entries are ready, the queue says %d", n, q.lenLocked())
	}
	r := &q.ready
	total, filled := r.normal.len, 0
	levels := []*level[T]{&r.normal}
	for p, l := range r.levels {
		if p != l.priority || p == 0 {
			return fmt.Errorf("level %d is filed under %d", l.priority, p)
		}
		if total += l.len; l.len > 0 {
			filled++
			if l.index >= len(r.heap) || r.heap[l.index] != l {
				return fmt.Errorf("level %d is not where it thinks in the heap", p)
			}
		}
		levels = append(levels, l)
	}
	for _, l := range levels {
		belongs := func(e *entry[T]) bool { return e.is(ready) && e.level == l && e.priority == l.priority }
		if err := l.check(belongs); err != nil {
			return err
		}
	}
	for i := 1; i < len(r.heap); i++ {
		if r.heap[i].priority > r.heap[(i-1)/2].priority {
			return fmt.Errorf("level heap is out of order at %d", i)
		}
	}
	if total != r.len || filled != len(r.heap) || len(r.levels)-filled > spareLevels {
		return fmt.Errorf("%d ready of %d; %d levels, %d filled, %d in the heap",
			total, r.len, len(r.levels), filled, len(r.heap))
	}
	return nil
}

func (q *Queue[T]) checkProcessing() error {
	if n := q.count(func(e *entry[T]) bool { return e.is(processing) }); n != q.processing.len {
		return fmt.Errorf("%d entries are in processing, the list has %d", n, q.processing.len)
	}
	return q.processing.check(func(e *entry[T]) bool { return e.is(processing) && e.level == nil })
}

func (q *Queue[T]) checkDelayed() error {
	nodes := q.delayed.nodes
	if n := q.count((*entry[T]).delayed); n != len(nodes) {
		return fmt.Errorf("%d entries are delayed, the heap has %d", n, len(nodes))
	}
	for i := range nodes {
		if nodes[i].e.delayIndex != i+1 {
			return fmt.Errorf("%v is at %d of the delay heap and thinks %d", nodes[i].e.item, i, nodes[i].e.delayIndex-1)
		}
		if i > 0 && nodes[i].before(&nodes[(i-1)/fanOut]) {
			return fmt.Errorf("delay heap is out of order at %d", i)
		}
	}
	switch {
	case q.shuttingDown && len(nodes) > 0:
		return fmt.Errorf("%d items are delayed after the shutdown", len(nodes))
	case len(nodes) > 0 && q.wake.pending == 0:
		return fmt.Errorf("nothing will wake up for the next deadline")
	case len(nodes) > 0 && q.wake.set && q.wake.at > nodes[0].due:
		return fmt.Errorf("alarm is set for later than the next deadline")
	}
	return nil
}

func (q *Queue[T]) checkSignals() error {
	if q.lenLocked() > 0 && q.waiting > 0 && !q.waking {
		return fmt.Errorf("%d items are ready, %d workers wait and none was woken", q.lenLocked(), q.waiting)
	}
	return nil
}
