package sharedinformer

import (
	"container/list"

	"glasswatch/internal/shrink"
	"glasswatch/listwatch"
)

// foldingBacklog keeps one net change per object. The net changes wait in a list, in the order in which their objects
// first came to wait.
//
//	waiting:  a: v1→v4   c: –→v1   b: v7→–
//	byKey:    a, b, c → their places in the list
//
// One is taken at a time: what is not yet at the handler can still be folded.
type foldingBacklog[T object] struct {
	waiting *list.List // of *netChange[T]
	byKey   map[key]*list.Element
	most    int // len(byKey) at most, since the map was made
	out     [2]notification[T]
}

// netChange takes one object from old, the last state that the handler was given, to obj, the newest.
type netChange[T object] struct {
	notification[T]
	// ofOld is the newest merged notification whose object has old's UID. If it is a deletion, that is how old ended.
	ofOld notification[T]
}

func newFoldingBacklog[T object]() *foldingBacklog[T] {
	return &foldingBacklog[T]{waiting: list.New(), byKey: map[key]*list.Element{}}
}

// add takes over a change, which the caller has counted in r.waiting. It takes the count back if it merges the change
// into one that waits already.
func (b *foldingBacklog[T]) add(n *notification[T], r *Registration) {
	k := listwatch.KeyOf(n.obj)
	at, waits := b.byKey[k]
	if !waits {
		at = b.waiting.PushBack(&netChange[T]{notification: *n})
		b.byKey[k] = at
		b.most = max(b.most, len(b.byKey))
	}
	s := at.Value.(*netChange[T])
	if s.kind != added && s.old.GetUID() == n.obj.GetUID() {
		s.ofOld = *n
	}
	if !waits {
		return
	}
	r.folds++
	r.waiting--
	if n.initial && s.initial {
		r.pendingInitial-- // they count once
	}
	s.initial = s.initial || n.initial
	s.obj = n.obj
	switch {
	case s.kind == added && n.kind == deleted: // from absent to absent: nothing is left of it
		b.remove(at)
		r.waiting--
		if s.initial {
			r.pendingInitial--
		}
		r.checkSyncLocked()
	case n.kind == deleted:
		s.kind = deleted
	case s.kind == deleted:
		s.kind = updated
	}
}

// removeFirst removes the first net change, of which there must be one, and returns what to tell of it. The slice is
// valid until the next call.
func (b *foldingBacklog[T]) removeFirst() []notification[T] {
	at := b.waiting.Front()
	b.remove(at)
	s := at.Value.(*netChange[T])
	gone := notification[T]{kind: deleted, unknownState: true, old: s.old, obj: s.old}
	switch {
	case s.kind == deleted:
		if s.ofOld.kind == deleted {
			gone = s.ofOld
		}
		gone.initial = s.initial
		return append(b.out[:0], gone)
	case s.kind == updated && s.old.GetUID() != s.obj.GetUID():
		return append(b.out[:0], gone, notification[T]{kind: added, initial: s.initial, obj: s.obj})
	}
	return append(b.out[:0], s.notification)
}

func (b *foldingBacklog[T]) remove(at *list.Element) {
	b.waiting.Remove(at)
	delete(b.byKey, listwatch.KeyOf(at.Value.(*netChange[T]).obj))
	if len(b.byKey) == 0 && shrink.IsDue(b.most, 0) {
		b.byKey, b.most = map[key]*list.Element{}, 0
	}
}
