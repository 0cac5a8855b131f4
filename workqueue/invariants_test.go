package workqueue

import "fmt"

// checkInvariants returns what is wrong with the queue's inside, nil if nothing is.
func (q *Queue[T]) checkInvariants() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, check := range []func() error{q.checkTable, q.checkReady, q.checkProcessing, q.checkDelayed, q.checkUntold} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue[T]) checkUntold() error {
	if q.untold != (untold{}) {
		return fmt.Errorf("the lock is free, and the metrics have not been told %+v", q.untold)
	}
	return nil
}

func (q *Queue[T]) checkTable() error {
	for item, e := range q.entries {
		switch {
		case e.item != item:
			return fmt.Errorf("%v is filed under %v", e.item, item)
		case e.state == idle && !e.delayed:
			return fmt.Errorf("%v is in no state", item)
		case q.opts.MergeDelayed && e.delayed && (e.state == waiting || e.state == processingDirty):
			return fmt.Errorf("%v is due twice in a queue that merges", item)
		}
	}
	for _, e := range q.spare {
		if *e != (entry[T]{}) {
			return fmt.Errorf("spare entry is not blank: %+v", *e)
		}
	}
	if q.largest < len(q.entries) {
		return fmt.Errorf("%d entries, and a peak of %d", len(q.entries), q.largest)
	}
	return nil
}

// spares counts the unused entries.
func (q *Queue[T]) spares() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.spare)
}

func (l *entryList[T]) check(n int, belongs func(*entry[T]) bool) error {
	if l.len != n {
		return fmt.Errorf("list of %d items is counted as %d", n, l.len)
	}
	var prev *entry[T]
	for e := l.head; e != nil; prev, e = e, e.next {
		if n--; e.prev != prev || !belongs(e) {
			return fmt.Errorf("%v does not belong where it is in its list", e.item)
		}
	}
	if l.tail != prev || n != 0 {
		return fmt.Errorf("list is miscounted by %d, or ends in the wrong place", n)
	}
	return nil
}

func (q *Queue[T]) count(is func(*entry[T]) bool) int {
	n := 0
	for _, e := range q.entries {
		if is(e) {
			n++
		}
	}
	return n
}

func (q *Queue[T]) checkReady() error {
	n := q.count(func(e *entry[T]) bool { return e.state == waiting })
	if n != q.lenLocked() {
		return fmt.Errorf("%d entries are waiting, the queue says %d", n, q.lenLocked())
	}
	if q.opts.Order == nil && q.waiting.len != n {
		return fmt.Errorf("waiting items are counted as %d", q.waiting.len)
	}
	for i, l := range q.waiting.levels {
		if i > 0 && q.waiting.levels[i-1].priority >= l.priority {
			return fmt.Errorf("levels are out of order at %d", i)
		}
		belongs := func(e *entry[T]) bool { return e.state == waiting && e.priority == l.priority }
		n := q.count(belongs)
		if n == 0 {
			return fmt.Errorf("level %d is empty", l.priority)
		}
		if err := l.items.check(n, belongs); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue[T]) checkProcessing() error {
	belongs := func(e *entry[T]) bool { return e.state == processing || e.state == processingDirty }
	return q.processing.check(q.count(belongs), belongs)
}

func (q *Queue[T]) checkDelayed() error {
	h := q.delayed
	if n := q.count(func(e *entry[T]) bool { return e.delayed }); n != len(h) {
		return fmt.Errorf("%d entries are delayed, the heap has %d", n, len(h))
	}
	for i, e := range h {
		if !e.delayed || e.delayIndex != i {
			return fmt.Errorf("%v is at %d of the delay heap and thinks %d", e.item, i, e.delayIndex)
		}
		if i > 0 && h.Less(i, (i-1)/2) {
			return fmt.Errorf("delay heap is out of order at %d", i)
		}
	}
	switch {
	case q.shuttingDown && len(h) > 0:
		return fmt.Errorf("%d items are delayed after the shutdown", len(h))
	case len(h) > 0 && q.nextDeadline.timer == nil:
		return fmt.Errorf("nothing will wake up for the next deadline")
	}
	return nil
}
