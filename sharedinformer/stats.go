package sharedinformer

import "glasswatch/reflector"

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
	i.fanout.mu.Lock()
	defer i.fanout.mu.Unlock()
	for _, l := range i.fanout.listeners {
		s.Handlers = append(s.Handlers, l.reg.Stats())
	}
	return s
}
