package sharedinformer

import (
	"cmp"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
)

// Step is a boundary that an event passes inside the informer.
type Step string

const (
	// BatchPopped: the consumer has taken a batch from the queue.
	BatchPopped Step = "popped"
	// BatchStored: the batch is in the store, and not yet in the handlers' backlogs.
	BatchStored Step = "stored"
	// HandlerCalled: the handler is about to be called.
	HandlerCalled Step = "called"
	// HandlerReturned: the handler has returned. It does not come after a panic.
	HandlerReturned Step = "returned"
)

// Observation is what [Options].Observe is told. The calls come in the order in which things happened, per object.
//
// Batches are reported from the consumer's goroutine with the informer's mutex held. With a DeltaFIFO its lock is held
// as well. The observer must not call the informer then, except for its store. Calls are reported from the handler's
// goroutine with no lock held. An observer may block: that holds up the goroutine that called it, and what waits for
// its locks.
type Observation struct {
	Step     Step
	Informer string // its name
	Handler  string // its name; "" for a batch
	// Changes are those of the batch, or the one that the handler is called with. The slice is the observer's.
	Changes []Change
	// ResourceVersion is that of a list or bookmark that was popped, or what the store has reached; "" if that is
	// unknown.
	ResourceVersion string
}

// Change is one change of one object in an Observation.
type Change struct {
	// Action of a popped change is the delta's type. A popped SyncAll or Bookmark is one Change without a key. Of a
	// stored change it is "stored", "replaced", "removed" or "was not there"; of a call it is the handler's method.
	Action string
	Key    listwatch.Key
	// Obj is the object, for a deletion its last version; Old is the version it takes the place of. Each may be nil.
	Obj, Old listwatch.Object
	// IsInInitialList: it counts towards the sync. FinalStateUnknown: see [Deletion].
	IsInInitialList, FinalStateUnknown bool
}

// popped describes a batch as the queue gives it.
func popped[T object](informer string, batch []delta[T], isInInitialList bool) Observation {
	o := Observation{Step: BatchPopped, Informer: informer}
	if list := batch[0].Bulk; list != nil {
		o.ResourceVersion = list.ResourceVersion
		if batch[0].Type == deltafifo.ReplacedAll {
			batch = nil
		}
		for _, item := range list.Items {
			batch = append(batch, delta[T]{Type: deltafifo.ReplacedAll, Key: item.Key, Obj: item.Obj})
		}
	}
	for _, d := range batch {
		o.Changes = append(o.Changes, Change{
			Action:            d.Type.String(),
			Key:               d.Key,
			Obj:               objectOf(d.Obj),
			IsInInitialList:   isInInitialList,
			FinalStateUnknown: d.FinalStateUnknown,
		})
	}
	return o
}

// stored describes what the store did with a batch.
func stored[T object](informer string, ops []storeOp[T], version string, isInInitialList bool) Observation {
	o := Observation{Step: BatchStored, Informer: informer, ResourceVersion: version}
	for j := range ops {
		op := &ops[j]
		c := Change{
			Action:          "stored",
			Key:             op.Key,
			Obj:             objectOf(op.Obj),
			Old:             objectOf(op.Old),
			IsInInitialList: isInInitialList,
		}
		switch {
		case op.Delete && op.Existed:
			c.Action, c.Obj = "removed", cmp.Or(c.Obj, c.Old)
		case op.Delete:
			c.Action = "was not there"
		case op.Existed:
			c.Action = "replaced"
		}
		o.Changes = append(o.Changes, c)
	}
	return o
}

// observerOf returns what reports the calls of a handler, nil if nobody looks on.
func (f *fanout[T]) observerOf(handler string) func(Step, *notification[T]) {
	if f.observe == nil {
		return nil
	}
	return func(step Step, n *notification[T]) { f.observe(handling(step, f.informer, handler, n)) }
}

// handling describes a call of a handler.
func handling[T object](step Step, informer, handler string, n *notification[T]) Observation {
	c := Change{Action: "OnAdd", Key: listwatch.KeyOf(n.obj), Obj: n.obj, IsInInitialList: n.initial}
	switch n.kind {
	case updated:
		c.Action, c.Old = "OnUpdate", n.old
	case deleted:
		c.Action, c.FinalStateUnknown = "OnDelete", n.unknownState
	}
	return Observation{Step: step, Informer: informer, Handler: handler, Changes: []Change{c}}
}

// objectOf returns obj, or nil if it is the zero value.
func objectOf[T object](obj T) object {
	var none T
	if any(obj) == any(none) {
		return nil
	}
	return obj
}
