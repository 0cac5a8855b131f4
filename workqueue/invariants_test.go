package workqueue

import "fmt"

// checkInvariants returns what is wrong with the queue's inside, nil if nothing is.
func (q *Queue[T]) checkInvariants() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, check := range []func() error{q.checkTable, q.checkReady, q.checkProcessing, q.checkDelayed} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue[T]) checkTable() error {
	t := &q.table
	for item, e := range t.entries {
		switch {
		case e.item != item:
			return fmt.Errorf("%v is filed under %v", e.item, item)
		case e.state == 0:
			return fmt.Errorf("%v is in no state", item)
		case e.is(ready) && e.is(processing), e.is(dirty) && !e.is(processing):
			return fmt.Errorf("%v has state %b", item, e.state)
		case q.merge && e.is(delayed) && e.is(ready|dirty):
			return fmt.Errorf("%v is due twice in a queue that merges", item)
		}
	}
	for e := t.free; e != nil; e = e.next {
		if *e != (entry[T]{next: e.next}) {
			return fmt.Errorf("spare entry is not blank: %+v", *e)
		}
	}
	if t.peak < len(t.entries) {
		return fmt.Errorf("%d entries, and a peak of %d", len(t.entries), t.peak)
	}
	return nil
}

// spares counts the unused entries.
func (q *Queue[T]) spares() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for e := q.table.free; e != nil; e = e.next {
		n++
	}
	return n
}

func (l *entryList[T]) check(n int, is func(*entry[T]) bool) error {
	var prev *entry[T]
	for e := l.head; e != nil; prev, e = e, e.next {
		if n--; e.prev != prev || !is(e) {
			return fmt.Errorf("%v does not belong where it is in its list", e.item)
		}
	}
	if l.tail != prev || n != 0 {
		return fmt.Errorf("list is miscounted by %d, or ends in the wrong place", n)
	}
	return nil
}

func (q *Queue[T]) count(s state) int {
	n := 0
	for _, e := range q.table.entries {
		if e.is(s) {
			n++
		}
	}
	return n
}

func (q *Queue[T]) checkReady() error {
	if n := q.count(ready); n != q.lenLocked() {
		return fmt.Errorf("%d entries are ready, the queue says %d", n, q.lenLocked())
	}
	if q.order == nil && q.ready.len != q.count(ready) {
		return fmt.Errorf("ready items are counted as %d", q.ready.len)
	}
	for i, l := range q.ready.levels {
		if i > 0 && q.ready.levels[i-1].priority >= l.priority {
			return fmt.Errorf("levels are out of order at %d", i)
		}
		n := 0
		for _, e := range q.table.entries {
			if e.is(ready) && e.priority == l.priority {
				n++
			}
		}
		if n == 0 {
			return fmt.Errorf("level %d is empty", l.priority)
		}
		belongs := func(e *entry[T]) bool { return e.is(ready) && e.priority == l.priority }
		if err := l.check(n, belongs); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue[T]) checkProcessing() error {
	if n := q.count(processing); n != q.working {
		return fmt.Errorf("%d entries are in processing, counted as %d", n, q.working)
	}
	return q.processing.check(q.working, func(e *entry[T]) bool { return e.is(processing) })
}

func (q *Queue[T]) checkDelayed() error {
	h := q.delayed
	if n := q.count(delayed); n != len(h) {
		return fmt.Errorf("%d entries are delayed, the heap has %d", n, len(h))
	}
	for i, e := range h {
		if e.delayIndex != i {
			return fmt.Errorf("%v is at %d of the delay heap and thinks %d", e.item, i, e.delayIndex)
		}
		if i > 0 && h.Less(i, (i-1)/2) {
			return fmt.Errorf("delay heap is out of order at %d", i)
		}
	}
	switch {
	case q.shuttingDown && len(h) > 0:
		return fmt.Errorf("%d items are delayed after the shutdown", len(h))
	case len(h) > 0 && q.alarm.callbacks == 0:
		return fmt.Errorf("nothing will wake up for the next deadline")
	}
	return nil
}
