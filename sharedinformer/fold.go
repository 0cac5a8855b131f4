// # Folding
//
// By default a handler gets every change, and a slow one's backlog grows without a bound. With [HandlerOptions].Fold
// the backlog has at most one change for each object: from the last state d that the handler was given to the newest
// state n. That change keeps the place of the first one:
//
//	absent → n         OnAdd(n)
//	d → n              OnUpdate(d, n)
//	d → n, other UID   OnDelete(d), with FinalStateUnknown even if the deletion was seen; OnAdd(n)
//	d → absent         OnDelete(its last version), or OnDelete(d) with FinalStateUnknown if its deletion did not come
//	absent → absent    nothing
//
// An initial add that was folded away counts as delivered for HasSynced. A handler that needs each event must not fold.
// [HandlerOptions].MaxBacklog then bounds its backlog: a handler past the bound is removed. Without Fold,
// an object that a relist finds replaced by one of another UID is told as OnUpdate(old, new).
package sharedinformer

import (
	"container/list"

	"glasswatch/listwatch"
)

// foldedChanges is what waits in the backlog of a handler that folds: one net change per object, from the last state that
// the handler was given to the newest one. They wait in the order in which their objects first came to wait.
//
//	waiting:  a: v1→v4   c: absent→v1   b: v7→absent
//	byKey:    a, b, c ──▶ their elements of waiting
type foldedChanges[T object] struct {
	waiting *list.List // of *netChange[T]
	byKey   map[key]*list.Element
	initial int // how many of those that wait are initial
}

// netChange is what happened to one key since the handler was last told of it.
type netChange[T object] struct {
	known   bool // the handler was given old; otherwise the object is absent for it
	exists  bool // the newest state is obj; otherwise it is absent, and obj is what was deleted
	initial bool // it counts towards the handler's sync
	old     T
	obj     T
	// deletion tells how the object that the handler knows has gone: nil if that was not told, or the object is back.
	deletion *notification[T]
}

func newFoldedChanges[T object]() *foldedChanges[T] {
	return &foldedChanges[T]{waiting: list.New(), byKey: map[key]*list.Element{}}
}

// add takes over a change: as a net change of its own, or merged into the one of its object.
func (f *foldedChanges[T]) add(n *notification[T]) (merged bool) {
	k := listwatch.KeyOf(n.obj)
	at, waits := f.byKey[k]
	if !waits {
		at = f.waiting.PushBack(&netChange[T]{known: n.kind != added, old: n.old})
		f.byKey[k] = at
	}
	c := at.Value.(*netChange[T])
	if n.initial && !c.initial {
		f.initial++
	}
	c.merge(n)
	if !c.known && !c.exists { // the handler need not hear of it
		f.remove(at)
	}
	return waits
}

// merge makes n's state the newest one. A key may change hands while it waits. Say that the handler knows uid 1, that
// uid 2 takes its place and is deleted, too: the handler is told that uid 1 is gone, so the deletion of uid 2 is not kept.
func (c *netChange[T]) merge(n *notification[T]) {
	c.exists = n.kind != deleted
	c.obj = n.obj
	c.initial = c.initial || n.initial
	isOfOld := c.known && c.old.GetUID() == n.obj.GetUID()
	switch {
	case isOfOld && n.kind == deleted:
		deletion := *n
		c.deletion = &deletion
	case isOfOld:
		c.deletion = nil
	}
}

// removeFirst removes the first net change, of which there must be one, and appends what to tell of it to dst.
func (f *foldedChanges[T]) removeFirst(dst []notification[T]) []notification[T] {
	at := f.waiting.Front()
	f.remove(at)
	c := at.Value.(*netChange[T])
	addition := notification[T]{kind: added, obj: c.obj, initial: c.initial}
	update := notification[T]{kind: updated, old: c.old, obj: c.obj, initial: c.initial}
	unseen := notification[T]{kind: deleted, old: c.old, obj: c.old, unknownState: true}
	switch {
	case !c.known:
		return append(dst, addition)
	case c.exists && c.old.GetUID() == c.obj.GetUID():
		return append(dst, update)
	case c.exists: // another object has taken the key
		return append(dst, unseen, addition)
	case c.deletion != nil:
		c.deletion.initial = c.initial
		return append(dst, *c.deletion)
	default:
		unseen.initial = c.initial
		return append(dst, unseen)
	}
}

func (f *foldedChanges[T]) remove(at *list.Element) {
	c := at.Value.(*netChange[T])
	f.waiting.Remove(at)
	delete(f.byKey, listwatch.KeyOf(c.obj))
	if c.initial {
		f.initial--
	}
}
