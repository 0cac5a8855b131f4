package sharedinformer

import "glasswatch/listwatch"

type notificationKind uint8

const (
	added notificationKind = iota + 1
	updated
	deleted
)

// cause says why handlers are told, and so which of them are: see wants in resync.go.
type cause uint8

const (
	changed  cause = iota // the object was added, updated or deleted
	repeated              // a list or an event of the watch shows the object as it was
	resynced              // a resync gives the object again
)

// notification is one change of the store on its way to a handler.
type notification[T object] struct {
	kind  notificationKind
	cause cause
	// initial: it counts towards the handler's sync. OnAdd passes it on as isInInitialList.
	initial bool
	// unknownState is a deletion's FinalStateUnknown.
	unknownState bool
	// moreFollows: this deletion and the add after it are one change of a handler that folds.
	moreFollows bool
	old, obj    T // deleted: old is the version handlers know, obj the one the deletion tells of
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
