package sharedinformer

import (
	"glasswatch/deltafifo"
	"glasswatch/listwatch"
)

// TraceEvent is one change of one object crossing one layer.
type TraceEvent struct {
	Layer           string // the layer's package: reflector, deltafifo, indexer or sharedinformer
	Action          string // what the layer did: Update, Replaced, stored, OnAdd, …
	Key             listwatch.Key
	ResourceVersion string // of the version that crosses; "" if only the key is known
}

// tracingQueue reports what the reflector puts into the queue.
type tracingQueue[T object] struct {
	Queue[T]
	report func(TraceEvent)
}

func (s tracingQueue[T]) trace(action string, obj T) {
	s.report(TraceEvent{"reflector", action, listwatch.KeyOf(obj), obj.GetResourceVersion()})
}

func (s tracingQueue[T]) Add(obj T) error {
	s.trace("Add", obj)
	return s.Queue.Add(obj)
}

func (s tracingQueue[T]) Update(obj T) error {
	s.trace("Update", obj)
	return s.Queue.Update(obj)
}

func (s tracingQueue[T]) Delete(obj T) error {
	s.trace("Delete", obj)
	return s.Queue.Delete(obj)
}

func (s tracingQueue[T]) DeleteKey(k key) error {
	s.report(TraceEvent{"reflector", "DeleteKey", k, ""})
	return s.Queue.DeleteKey(k)
}

func (s tracingQueue[T]) Replace(objs []T, keep []key, resourceVersion string) error {
	for _, obj := range objs {
		s.trace("Replace", obj)
	}
	return s.Queue.Replace(objs, keep, resourceVersion)
}

// traceBatch reports what became of a batch that is in the store and in the handlers' backlogs.
func (i *Informer[T]) traceBatch(batch []delta[T]) {
	for j := range i.applier.ops {
		d := &batch[0] // a bulk delta is alone, and many operations
		if len(batch) > 1 {
			d = &batch[j]
		}
		i.traceApplied(d.Type, &i.applier.ops[j])
	}
}

// traceApplied reports one change that is in the store and in the handlers' backlogs. It is called with no lock held.
func (i *Informer[T]) traceApplied(delta deltafifo.DeltaType, op *storeOp[T]) {
	var none T
	version := ""
	if any(op.Obj) != any(none) {
		version = op.Obj.GetResourceVersion()
	}
	stored, told := "stored", "OnAdd"
	switch {
	case op.Delete && !op.Existed:
		stored, told = "was not there", ""
	case op.Delete:
		stored, told = "removed", "OnDelete"
	case op.Existed:
		stored, told = "replaced rv "+op.Old.GetResourceVersion(), "OnUpdate"
	}
	i.opts.Trace(TraceEvent{"deltafifo", delta.String(), op.Key, version})
	i.opts.Trace(TraceEvent{"indexer", stored, op.Key, version})
	if told != "" {
		i.opts.Trace(TraceEvent{"sharedinformer", told, op.Key, version})
	}
}
