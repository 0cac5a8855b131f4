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
	// initial: it counts towards the handler's sync. OnAdd passes it on as isInInitialList.
	initial bool
	// sameVersion: an update that changed nothing, as its resourceVersion says. Handlers get it if they are due.
	sameVersion bool
	// resync: a sameVersion update that comes from a resync, not from a relist.
	resync bool
	// unknownState is a deletion's FinalStateUnknown.
	unknownState bool
	// halfTold: the next notification of the batch is of the same change. Folding tells of a replaced object in two.
	halfTold bool
	old, obj T // deleted: old is the version handlers know, obj the one the deletion tells of
}

// call calls the method of the handler that tells of n.
func (n *notification[T]) call(h Handler[T]) {
	switch n.kind {
	case added:
		h.OnAdd(n.obj, n.initial)
	case updated:
		h.OnUpdate(n.old, n.obj)
	case deleted:
		h.OnDelete(Deletion[T]{Key: listwatch.KeyOf(n.obj), Obj: n.obj, FinalStateUnknown: n.unknownState})
	}
}
