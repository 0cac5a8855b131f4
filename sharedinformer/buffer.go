package sharedinformer

import (
	"glasswatch/listwatch"
)

type notificationKind uint8

const (
	added notificationKind = iota + 1
	updated
	deleted
)

// notification is one change of the store on its way to a handler.
type notification[T listwatch.Object] struct {
	kind notificationKind
	// initial: it counts towards the handler's sync; an added says so to the handler.
	initial bool
	// sameVersion: an update that did not change the resourceVersion, for handlers that are due a resync only.
	sameVersion bool
	// resync: an update that is nothing but a resync.
	resync bool
	// part: the first of two calls that are one change.
	part bool
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

// effect is what an append did to a backlog.
type effect struct {
	depth   int   // by how much it grew; negative if changes cancelled each other
	settled int64 // initial adds that will never be delivered
	folds   int   // changes that merged into one that waited
}

func (e *effect) add(more effect) {
	e.depth += more.depth
	e.settled += more.settled
	e.folds += more.folds
}

// backlog holds what waits for one handler. It is guarded by its listener's mutex.
type backlog[T listwatch.Object] interface {
	// append copies the batch.
	append(batch []notification[T]) effect
	// take removes and returns what is to be delivered next, in order; empty if there is nothing. The slice belongs to the
	// caller until the next take, by when it has zeroed it.
	take() []notification[T]
	// idle gives back memory that a burst left behind; called when there is nothing to take.
	idle()
}

// keepCap is the number of slots that an idle backlog keeps.
const keepCap = 1024

// plainBacklog keeps every change. Whoever takes gets the whole buffer, and leaves the one of last time in its place.
type plainBacklog[T listwatch.Object] struct {
	buf   []notification[T]
	spare []notification[T]
}

func (b *plainBacklog[T]) append(batch []notification[T]) effect {
	b.buf = append(b.buf, batch...)
	return effect{depth: len(batch)}
}

func (b *plainBacklog[T]) take() []notification[T] {
	taken := b.buf
	b.buf, b.spare = b.spare[:0], taken
	return taken
}

func (b *plainBacklog[T]) idle() {
	if cap(b.buf) > keepCap {
		b.buf = nil
	}
	if cap(b.spare) > keepCap {
		b.spare = nil
	}
}
