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

	"glasswatch/internal/shrink"
	"glasswatch/listwatch"
)

// foldingBacklog is the backlog of a handler that folds: one net change per object, from the last state that the
// handler was given to the newest one. The net changes wait in the order in which their objects first came to wait.
//
//	waiting:  a: v1→v4   c: absent→v1   b: v7→absent
//	byKey:    a, b, c ──▶ their elements of waiting
//
// One is taken at a time: what is not yet at the handler can still be folded. "Folding" above says what comes of each.
type foldingBacklog[T object] struct {
	waiting *list.List // of *netChange[T]
	byKey   map[key]*list.Element
	initial int // how many of those that wait are initial
	most    int // the greatest length of byKey since the map was made
}

// netChange is what happened to one key since the handler was last told of it.
type netChange[T object] struct {
	known   bool // the handler was given old; otherwise the object is absent for it
	exists  bool // the newest state is obj; otherwise it is absent, and obj is what was deleted
	initial bool // it counts towards the handler's sync
	old     T
	obj     T
	// ending is how the object that the handler knows has gone. It is nil if that was not told, or the object is back.
	ending *ending[T]
}

// ending is what a deletion tells.
type ending[T object] struct {
	obj          T
	unknownState bool
}

func newFoldingBacklog[T object]() *foldingBacklog[T] {
	return &foldingBacklog[T]{waiting: list.New(), byKey: map[key]*list.Element{}}
}

// add takes over a change: as a net change of its own, or merged into the one of its object.
func (b *foldingBacklog[T]) add(n *notification[T]) (merged bool) {
	k := listwatch.KeyOf(n.obj)
	at, waits := b.byKey[k]
	if !waits {
		at = b.waiting.PushBack(&netChange[T]{known: n.kind != added, old: n.old})
		b.byKey[k] = at
		b.most = max(b.most, len(b.byKey))
	}
	c := at.Value.(*netChange[T])
	if n.initial && !c.initial {
		b.initial++
	}
	c.merge(n)
	if !c.known && !c.exists { // the handler need not hear of it
		b.remove(at)
	}
	return waits
}

// merge makes n's state the newest one. A key may change hands while it waits. Say that the handler knows uid 1, that
// uid 2 takes its place and is deleted, too: the handler is told that uid 1 is gone, so the end of uid 2 is not kept.
func (c *netChange[T]) merge(n *notification[T]) {
	c.exists = n.kind != deleted
	c.obj = n.obj
	c.initial = c.initial || n.initial
	isOfOld := c.known && c.old.GetUID() == n.obj.GetUID()
	switch {
	case isOfOld && n.kind == deleted:
		c.ending = &ending[T]{obj: n.obj, unknownState: n.unknownState}
	case isOfOld:
		c.ending = nil
	}
}

// removeFirst removes the first net change, of which there must be one, and appends what to tell of it to dst.
func (b *foldingBacklog[T]) removeFirst(dst []notification[T]) []notification[T] {
	at := b.waiting.Front()
	b.remove(at)
	c := at.Value.(*netChange[T])
	addition := notification[T]{kind: added, obj: c.obj, initial: c.initial}
	update := notification[T]{kind: updated, old: c.old, obj: c.obj, initial: c.initial}
	deletion := notification[T]{kind: deleted, old: c.old, obj: c.old, unknownState: true}
	switch {
	case !c.known:
		return append(dst, addition)
	case !c.exists:
		if c.ending != nil {
			deletion.obj = c.ending.obj
			deletion.unknownState = c.ending.unknownState
		}
		deletion.initial = c.initial
		return append(dst, deletion)
	case c.old.GetUID() != c.obj.GetUID(): // another object has taken the key
		deletion.moreFollows = true
		return append(dst, deletion, addition)
	default:
		return append(dst, update)
	}
}

func (b *foldingBacklog[T]) remove(at *list.Element) {
	c := at.Value.(*netChange[T])
	b.waiting.Remove(at)
	delete(b.byKey, listwatch.KeyOf(c.obj))
	if c.initial {
		b.initial--
	}
	if len(b.byKey) == 0 && shrink.IsDue(b.most, 0) {
		b.byKey = map[key]*list.Element{}
		b.most = 0
	}
}
