package sharedinformer

import "glasswatch/listwatch"

// Deletion says that an object is gone.
type Deletion[T listwatch.Object] struct {
	// Key names the object; never zero.
	Key listwatch.Key
	// Obj is the last version at hand; an informer always has one. It is the object's final state unless
	// FinalStateUnknown says otherwise.
	Obj T
	// FinalStateUnknown is set if Obj may be out of date: a relist found the object gone, or the deletion came without a
	// readable object, or, with Fold, another object has taken the key since.
	FinalStateUnknown bool
}

// HasObj reports whether Obj is there. A deletion that a program makes itself may lack it.
func (d Deletion[T]) HasObj() bool { return !isMissing(d.Obj) }

// isMissing reports whether obj is the zero value of its type, as a nil pointer is.
func isMissing[T object](obj T) bool {
	var none T
	return any(obj) == any(none)
}

// Handler is told of every change of an informer's store. Its methods are called one at a time, from one goroutine per
// registration, with no lock held. They may block: meanwhile changes wait, see [HandlerOptions]. They may add and
// remove handlers. Objects are shared with the store and with every other handler and must not be modified.
type Handler[T listwatch.Object] interface {
	// OnAdd tells of an object the handler did not know of. isInInitialList is set for the objects that were there when
	// the handler or the informer started.
	OnAdd(obj T, isInInitialList bool)
	// OnUpdate tells of a new version, or of the same one again: see "Resync" in the package's doc.
	OnUpdate(oldObj, newObj T)
	// OnDelete tells that an object the handler knew of is gone.
	OnDelete(d Deletion[T])
}

// HandlerFuncs makes a Handler of functions, each of which may be nil.
type HandlerFuncs[T listwatch.Object] struct {
	AddFunc    func(obj T, isInInitialList bool)
	UpdateFunc func(oldObj, newObj T)
	DeleteFunc func(d Deletion[T])
}

// OnAdd calls AddFunc if there is one.
func (h HandlerFuncs[T]) OnAdd(obj T, isInInitialList bool) {
	if h.AddFunc != nil {
		h.AddFunc(obj, isInInitialList)
	}
}

// OnUpdate calls UpdateFunc if there is one.
func (h HandlerFuncs[T]) OnUpdate(oldObj, newObj T) {
	if h.UpdateFunc != nil {
		h.UpdateFunc(oldObj, newObj)
	}
}

// OnDelete calls DeleteFunc if there is one.
func (h HandlerFuncs[T]) OnDelete(d Deletion[T]) {
	if h.DeleteFunc != nil {
		h.DeleteFunc(d)
	}
}

// FilteringHandler passes on what concerns the objects that FilterFunc accepts. An update that brings an object into
// the filter becomes an add. One that takes it out becomes a deletion: its Obj is the last version that was accepted,
// and FinalStateUnknown is false. A deletion without an object cannot be judged and is passed on.
//
// FilterFunc must give the same answer for the same version of an object. A deletion may bring a version that was never
// told, with [HandlerOptions].Fold, or if objects fail to decode or to transform. Then FilterFunc must give one answer
// for all versions of an object.
type FilteringHandler[T listwatch.Object] struct {
	// FilterFunc must not be nil.
	FilterFunc func(obj T) bool
	// Handler must not be nil.
	Handler Handler[T]
}

// OnAdd passes an accepted object on.
func (h FilteringHandler[T]) OnAdd(obj T, isInInitialList bool) {
	if h.FilterFunc(obj) {
		h.Handler.OnAdd(obj, isInInitialList)
	}
}

// OnUpdate passes on an update, an add or a deletion, as the old and the new version are accepted.
func (h FilteringHandler[T]) OnUpdate(oldObj, newObj T) {
	older, newer := h.FilterFunc(oldObj), h.FilterFunc(newObj)
	switch {
	case older && newer:
		h.Handler.OnUpdate(oldObj, newObj)
	case newer:
		h.Handler.OnAdd(newObj, false)
	case older:
		h.Handler.OnDelete(Deletion[T]{Key: listwatch.KeyOf(oldObj), Obj: oldObj})
	}
}

// OnDelete passes on the deletion of an accepted object.
func (h FilteringHandler[T]) OnDelete(d Deletion[T]) {
	if !d.HasObj() || h.FilterFunc(d.Obj) {
		h.Handler.OnDelete(d)
	}
}
