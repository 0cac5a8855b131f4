package sharedinformer

import "glasswatch/listwatch"

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
	// add takes a change over. It returns how many changes became one, and how many initial adds will never be
	// delivered.
	add(n *notification[T]) (folds, lostInitial int)
	// take removes and returns what is to be delivered next, in order; empty if there is nothing. The slice belongs to
	// the caller until the next take, by when it must be zeroed.
	take() []notification[T]
	// idle gives back the memory of a burst; it is called when there is nothing to take.
	idle()
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
	taken := b.buf
	b.buf, b.spare = b.spare[:0], taken
	return taken
}

func (b *plainBacklog[T]) idle() {
	if max(cap(b.buf), cap(b.spare)) > keepCap {
		b.buf, b.spare = nil, nil
	}
}

func (b *plainBacklog[T]) len() int { return len(b.buf) }
