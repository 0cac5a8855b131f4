package sharedinformer

import (
	"glasswatch/listwatch"
)

// foldingBacklog keeps at most one change per object: the step from the last state that the handler was given to the
// newest. The changes wait in a list, in the order in which their objects first came to wait.
//
//	list:   a: v1→v4   c: –→v1   b: v7→–
//	byKey:  a, b, c → their places in the list
//
// One change is taken at a time: what is not yet at the handler can still be folded.
type foldingBacklog[T listwatch.Object] struct {
	steps []step[T] // arena of a doubly linked list; steps[0] is its head and tail
	free  int32     // first of the unused steps, linked by next; 0 is none
	// Invariant: byKey holds exactly the steps in the list.
	byKey map[listwatch.Key]int32
	out   [2]notification[T]
}

// step is the change of one object that waits: from given to newest, either of which may be absent, but not both.
type step[T listwatch.Object] struct {
	key       listwatch.Key
	given     T // the last state the handler was given
	newest    T
	deletion  T // what the deletion of given told of
	hasGiven  bool
	hasNewest bool
	// hasDeletion: deletion is there, and unknownState is its FinalStateUnknown.
	hasDeletion  bool
	unknownState bool
	initial      bool // counts towards the handler's sync
	prev, next   int32
}

func newFoldingBacklog[T listwatch.Object]() *foldingBacklog[T] {
	b := &foldingBacklog[T]{}
	b.reset()
	return b
}

func (b *foldingBacklog[T]) reset() {
	b.steps = make([]step[T], 1, 16)
	b.free = 0
	b.byKey = map[listwatch.Key]int32{}
}

func (b *foldingBacklog[T]) append(batch []notification[T]) (sum effect) {
	for i := range batch {
		sum.add(b.appendOne(&batch[i]))
	}
	return sum
}

func (b *foldingBacklog[T]) appendOne(n *notification[T]) effect {
	key := listwatch.KeyOf(n.obj)
	if at, waits := b.byKey[key]; waits {
		return b.merge(at, n)
	}
	at := b.newStep()
	s := &b.steps[at]
	s.key, s.initial = key, n.initial
	if n.kind != added {
		s.given, s.hasGiven = n.old, true
	}
	s.to(n)
	b.linkLast(at)
	b.byKey[key] = at
	return effect{depth: 1}
}

// merge folds n into the step at place at, which keeps its place unless nothing of it is left.
func (b *foldingBacklog[T]) merge(at int32, n *notification[T]) effect {
	s := &b.steps[at]
	e := effect{folds: 1}
	if n.initial {
		if s.initial {
			e.settled = 1 // the step counts once
		}
		s.initial = true
	}
	s.to(n)
	if !s.hasGiven && !s.hasNewest {
		if s.initial {
			e.settled++
		}
		e.depth = -1
		b.remove(at)
	}
	return e
}

// to makes n's state the newest.
func (s *step[T]) to(n *notification[T]) {
	var none T
	if n.kind != deleted {
		s.newest, s.hasNewest = n.obj, true
		return
	}
	s.newest, s.hasNewest = none, false
	// Of several deletions the handler is told of that of the object it knows.
	if s.hasGiven && s.given.GetUID() == n.obj.GetUID() {
		s.deletion, s.hasDeletion, s.unknownState = n.obj, true, n.unknownState
	}
}

func (b *foldingBacklog[T]) take() []notification[T] {
	at := b.steps[0].next
	if at == 0 {
		return nil
	}
	out := b.steps[at].notifications(b.out[:0])
	b.remove(at)
	if len(b.steps) > keepCap && len(b.byKey) < len(b.steps)/4 {
		b.compact()
	}
	return out
}

// notifications appends the step as the handler is to see it.
func (s *step[T]) notifications(dst []notification[T]) []notification[T] {
	switch {
	case !s.hasGiven:
		return append(dst, notification[T]{kind: added, initial: s.initial, obj: s.newest})
	case !s.hasNewest:
		if s.hasDeletion {
			return append(dst, notification[T]{kind: deleted, initial: s.initial, unknownState: s.unknownState, old: s.given, obj: s.deletion})
		}
		return append(dst, notification[T]{kind: deleted, initial: s.initial, unknownState: true, old: s.given, obj: s.given})
	case s.given.GetUID() != s.newest.GetUID():
		return append(dst,
			notification[T]{kind: deleted, part: true, unknownState: true, old: s.given, obj: s.given},
			notification[T]{kind: added, initial: s.initial, obj: s.newest})
	default:
		return append(dst, notification[T]{kind: updated, initial: s.initial, old: s.given, obj: s.newest})
	}
}

func (b *foldingBacklog[T]) idle() {
	b.out = [2]notification[T]{}
	if len(b.steps) > keepCap {
		b.reset()
	}
}

// compact moves what waits into a smaller arena.
func (b *foldingBacklog[T]) compact() {
	waiting := make([]step[T], 0, len(b.byKey))
	for at := b.steps[0].next; at != 0; at = b.steps[at].next {
		waiting = append(waiting, b.steps[at])
	}
	b.reset()
	for i := range waiting {
		at := b.newStep()
		b.steps[at] = waiting[i]
		b.linkLast(at)
		b.byKey[waiting[i].key] = at
	}
}

func (b *foldingBacklog[T]) newStep() int32 {
	if at := b.free; at != 0 {
		b.free = b.steps[at].next
		b.steps[at].next = 0
		return at
	}
	b.steps = append(b.steps, step[T]{})
	return int32(len(b.steps) - 1)
}

func (b *foldingBacklog[T]) linkLast(at int32) {
	last := b.steps[0].prev
	b.steps[at].prev, b.steps[at].next = last, 0
	b.steps[last].next = at
	b.steps[0].prev = at
}

// remove takes the step off the list and zeroes it.
func (b *foldingBacklog[T]) remove(at int32) {
	s := &b.steps[at]
	delete(b.byKey, s.key)
	b.steps[s.prev].next = s.next
	b.steps[s.next].prev = s.prev
	*s = step[T]{next: b.free}
	b.free = at
}
