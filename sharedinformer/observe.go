package sharedinformer

import (
	"glasswatch/deltafifo"
	"glasswatch/listwatch"
	"glasswatch/observe"
	"glasswatch/reflector"
)

// Stats are a moment of an informer. Its numbers are read one after the other, while the informer goes on.
type Stats struct {
	Name string
	// Objects is the number of objects in the store.
	Objects int
	// QueueDepth is the number of changes between the reflector and the store.
	QueueDepth int
	// ResourceVersion is the store's, LastSyncResourceVersion the one up to which the reflector has read.
	ResourceVersion         string
	LastSyncResourceVersion string
	Synced                  bool
	// Reflector counts lists, watches and their failures.
	Reflector reflector.Stats
	// ObjectErrors counts objects that could not be read, transformed or indexed.
	ObjectErrors uint64
	// Handlers are in the order of their registration.
	Handlers []HandlerStats
}

// Stats returns the counters of this moment.
func (i *Informer[T]) Stats() Stats {
	s := Stats{
		Name:                    i.opts.Name,
		Objects:                 i.store.Len(),
		QueueDepth:              i.queue.Len(),
		ResourceVersion:         i.store.ResourceVersion(),
		LastSyncResourceVersion: i.LastSyncResourceVersion(),
		Synced:                  i.HasSynced(),
		Reflector:               i.source.Stats(),
		ObjectErrors:            i.objectErrors.count.Load(),
	}
	i.fanout.storeAndListeners.Lock()
	defer i.fanout.storeAndListeners.Unlock()
	for _, l := range i.fanout.listeners {
		s.Handlers = append(s.Handlers, l.reg.Stats())
	}
	return s
}

type observation = observe.Observation[key]

// report calls the user's observer, which must be there, unless there is nothing to report. It fills in From.
func (f *fanout[T]) report(seen ...observation) {
	for j := range seen {
		seen[j].From = f.informer
	}
	if len(seen) > 0 {
		f.observe(seen)
	}
}

// popped describes a batch as the queue gives it.
func popped[T object](batch []delta[T], isInInitialList bool) (seen []observation) {
	bulk := batch[0].Bulk // a bulk delta is alone in its batch
	if bulk != nil && len(bulk.Items) == 0 {
		all := observation{Step: observe.Popped, Kind: batch[0].Type.String(), Version: bulk.ResourceVersion}
		return append(seen, all)
	}
	if bulk != nil {
		batch = nil
		for _, item := range bulk.Items {
			batch = append(batch, delta[T]{Type: deltafifo.ReplacedAll, Key: item.Key, Obj: item.Obj})
		}
	}
	for _, d := range batch {
		o := about(observe.Popped, d.Type.String(), d.Key, d.Obj)
		o.IsInInitialList = isInInitialList
		o.FinalStateUnknown = d.FinalStateUnknown
		seen = append(seen, o)
	}
	return seen
}

// stored describes what the store did with a batch.
func stored[T object](ops []storeOp[T], isInInitialList bool) (seen []observation) {
	for _, op := range ops {
		o := about(observe.Stored, "stored", op.Key, op.Obj)
		switch {
		case op.Delete && !op.Existed:
			o.Kind = "was not there"
		case op.Delete:
			o.Kind = "removed"
			if o.Obj == nil { // the deletion came without an object
				o = about(o.Step, o.Kind, op.Key, op.Old)
			}
		case op.Existed:
			o.Kind = "replaced"
			o.Old = op.Old
		}
		o.IsInInitialList = isInInitialList
		seen = append(seen, o)
	}
	return seen
}

// observerOf returns what reports the calls of a handler, nil if nobody looks on.
func (f *fanout[T]) observerOf(handler string) func(observe.Step, *notification[T]) {
	if f.observe == nil {
		return nil
	}
	return func(step observe.Step, n *notification[T]) {
		o := about(step, "OnAdd", listwatch.KeyOf(n.obj), n.obj)
		o.Handler = handler
		o.IsInInitialList = n.initial
		switch n.kind {
		case updated:
			o.Kind = "OnUpdate"
			o.Old = n.old
		case deleted:
			o.Kind = "OnDelete"
			o.FinalStateUnknown = n.unknownState
		}
		f.report(o)
	}
}

// about is an observation of one object, which may be missing.
func about[T object](step observe.Step, kind string, k key, obj T) observation {
	o := observation{Step: step, Kind: kind, Key: k}
	if !isMissing(obj) {
		o.Obj = obj
		o.Version = obj.GetResourceVersion()
	}
	return o
}
