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
	// Processing is how long batches took on their way from the queue to the store and into the backlogs; with a simple
	// informer, through the handler.
	Processing Histogram
	// Reflector counts lists, watches and their failures.
	Reflector reflector.Stats
	// ObjectErrors counts objects that could not be read, transformed or indexed.
	ObjectErrors uint64
	// Handlers are in the order of their registration.
	Handlers []HandlerStats
}

// stats returns what informers of both kinds know. c may be nil.
func (p *pipeline[T]) stats(c *Controller[T]) Stats {
	s := Stats{
		Name:            p.opts.Name,
		Objects:         p.store.Len(),
		QueueDepth:      p.queue.Len(),
		ResourceVersion: p.store.ResourceVersion(),
		Processing:      p.processing.read(),
		ObjectErrors:    p.objectErrors.Load(),
	}
	if c != nil {
		s.LastSyncResourceVersion = c.LastSyncResourceVersion()
		s.Reflector = c.reflector.Stats()
	}
	return s
}

// Stats returns the counters of this moment. Its Handlers are empty.
func (s *SimpleInformer[T]) Stats() Stats {
	stats := s.stats(s.Controller)
	stats.Synced = s.HasSynced()
	return stats
}

// Stats returns the counters of this moment.
func (i *Informer[T]) Stats() Stats {
	s := i.stats(i.running.Load())
	s.Synced = i.HasSynced()
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, l := range i.listeners {
		s.Handlers = append(s.Handlers, l.Stats())
	}
	return s
}
