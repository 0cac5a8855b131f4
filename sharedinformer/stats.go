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
	// Processing is how long batches took on their way from the queue to the store and into the backlogs. With a simple
	// informer the handler's calls are included.
	Processing Histogram
	// Reflector counts lists, watches and their failures.
	Reflector reflector.Stats
	// ObjectErrors counts objects that could not be read, transformed or indexed.
	ObjectErrors uint64
	// Handlers are in the order of their registration.
	Handlers []HandlerStats
}

// Stats returns the counters of this moment. A simple informer's Handlers are empty.
func (m *mirror[T]) Stats() Stats {
	return Stats{
		Name:                    m.opts.Name,
		Objects:                 m.store.Len(),
		QueueDepth:              m.cfg.Queue.Len(),
		ResourceVersion:         m.store.ResourceVersion(),
		LastSyncResourceVersion: m.LastSyncResourceVersion(),
		Synced:                  m.HasSynced(),
		Processing:              m.processing.read(),
		Reflector:               m.feeder.Stats(),
		ObjectErrors:            m.objectErrors.Load(),
	}
}

// Stats returns the counters of this moment.
func (i *Informer[T]) Stats() Stats {
	s := i.mirror.Stats()
	s.Synced = i.HasSynced()
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, l := range i.listeners {
		s.Handlers = append(s.Handlers, l.Stats())
	}
	return s
}
