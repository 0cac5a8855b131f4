package sharedinformer

import (
	"container/list"
	"maps"

	"glasswatch/listwatch"
)

type notificationKind uint8

const (
	added notificationKind = iota + 1
	updated
	deleted
)

// notification is one change of the store on its way to a handler.
type notification[T object] struct {
	kind notificationKind
	// initial: it counts towards the handler's sync; an added says so to the handler.
	initial bool
	// sameVersion: an update that did not change the resourceVersion, for handlers that are due a resync only.
	sameVersion bool
	// resync: an update that is nothing but a resync.
	resync bool
	// unknownState is a deletion's FinalStateUnknown.
	unknownState bool
	old, obj     T // deleted: old is the version handlers know, obj the one the deletion tells of
}

// tell calls the handler.
func (n *notification[T]) tell(h Handler[T]) {
	switch n.kind {
	case added:
		h.OnAdd(n.obj, n.initial)
	case updated:
		h.OnUpdate(n.old, n.obj)
	case deleted:
		h.OnDelete(Deletion[T]{Key: listwatch.KeyOf(n.obj), Obj: n.obj, FinalStateUnknown: n.unknownState})
	}
}

// backlog holds what waits for one handler. It is guarded by its listener's mutex.
type backlog[T object] interface {
	// add takes a change over. It returns how many changes became one, and how many initial adds will never be delivered.
	add(n *notification[T]) (folds, lostInitial int)
	// take removes and returns what is to be delivered next, in order; empty if there is nothing. The slice belongs to the
	// caller until the next take, by when it must be zeroed.
	take() []notification[T]
	// len is the number of changes.
	len() int
}

// keepCap is the number of slots that an idle backlog keeps.
const keepCap = 1024

// plainBacklog keeps every change. take swaps the two buffers.
type plainBacklog[T object] struct {
	buf   []notification[T]
	spare []notification[T]
}

func (b *plainBacklog[T]) add(n *notification[T]) (folds, lostInitial int) {
	b.buf = append(b.buf, *n)
	return 0, 0
}

func (b *plainBacklog[T]) take() []notification[T] {
	if len(b.buf) == 0 && max(cap(b.buf), cap(b.spare)) > keepCap {
		b.buf, b.spare = nil, nil // memory of a burst
	}
	b.buf, b.spare = b.spare[:0], b.buf
	return b.spare
}

func (b *plainBacklog[T]) len() int { return len(b.buf) }

// foldingBacklog keeps at most one change per object: the step from the last state that the handler was given to the
// newest. The steps wait in a list, in the order in which their objects first came to wait.
//
//	steps:  a: v1→v4   c: –→v1   b: v7→–
//	byKey:  a, b, c → their places in the list
//
// One step is taken at a time: what is not yet at the handler can still be folded.
type foldingBacklog[T object] struct {
	steps *list.List // of *step[T]
	byKey map[key]*list.Element
	most  int // len(byKey) at most, since the map was made
	out   [2]notification[T]
}

// step is the change of one object that waits. Its old is the last state that the handler was given, its obj the newest.
type step[T object] struct {
	notification[T]
	// deletion is the one that told of the end of old; its kind is 0 if there was none.
	deletion notification[T]
}

func newFoldingBacklog[T object]() *foldingBacklog[T] {
	return &foldingBacklog[T]{steps: list.New(), byKey: map[key]*list.Element{}}
}

func (b *foldingBacklog[T]) len() int { return b.steps.Len() }

func (b *foldingBacklog[T]) add(n *notification[T]) (folds, lostInitial int) {
	k := listwatch.KeyOf(n.obj)
	at, waits := b.byKey[k]
	if !waits {
		s := &step[T]{notification: *n}
		s.remember(n)
		b.byKey[k] = b.steps.PushBack(s)
		b.most = max(b.most, len(b.byKey))
		return 0, 0
	}
	s := at.Value.(*step[T])
	if n.initial && s.initial {
		lostInitial = 1 // the step counts once
	}
	s.initial = s.initial || n.initial
	s.remember(n)
	s.obj = n.obj
	switch {
	case s.kind == added && n.kind == deleted: // from absent to absent: nothing is left of it
		if s.initial {
			lostInitial++
		}
		b.remove(at)
	case n.kind == deleted:
		s.kind = deleted
	case s.kind == deleted:
		s.kind = updated
	}
	return 1, lostInitial
}

// remember keeps n if it is the deletion of the object that the handler knows.
func (s *step[T]) remember(n *notification[T]) {
	if n.kind == deleted && s.kind != added && s.old.GetUID() == n.obj.GetUID() {
		s.deletion = *n
	}
}

func (b *foldingBacklog[T]) take() []notification[T] {
	clear(b.out[:])
	at := b.steps.Front()
	if at == nil {
		return nil
	}
	b.remove(at)
	s := at.Value.(*step[T])
	gone := notification[T]{kind: deleted, unknownState: true, old: s.old, obj: s.old}
	switch {
	case s.kind == deleted:
		if s.deletion.kind == deleted {
			gone = s.deletion
		}
		gone.initial = s.initial
		return append(b.out[:0], gone)
	case s.kind == updated && s.old.GetUID() != s.obj.GetUID():
		return append(b.out[:0], gone, notification[T]{kind: added, initial: s.initial, obj: s.obj})
	}
	return append(b.out[:0], notification[T]{kind: s.kind, initial: s.initial, old: s.old, obj: s.obj})
}

// remove takes a step off. The map, which never shrinks by itself, is made anew after a burst.
func (b *foldingBacklog[T]) remove(at *list.Element) {
	b.steps.Remove(at)
	delete(b.byKey, listwatch.KeyOf(at.Value.(*step[T]).obj))
	if b.most > keepCap && len(b.byKey) < b.most/4 {
		b.byKey, b.most = maps.Collect(maps.All(b.byKey)), len(b.byKey)
	}
}
