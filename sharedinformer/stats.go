package sharedinformer

// Stats are a moment of an informer. Its numbers are read one after the other, while the informer goes on.
type Stats struct {
	Name string
	// Objects is the number of objects in the store.
	Objects int
	// QueueDepth is the number of changes between the reflector and the store.
	QueueDepth int
	// ResourceVersion is the store's.
	ResourceVersion string
	Synced          bool
	// ObjectErrors counts objects that could not be read, transformed or indexed.
	ObjectErrors uint64
	// Handlers are in the order of their registration.
	Handlers []HandlerStats
}

// Stats returns the counters of this moment.
func (i *Informer[T]) Stats() Stats {
	s := Stats{
		Name:            i.opts.Name,
		Objects:         i.store.Len(),
		QueueDepth:      i.queue.Len(),
		ResourceVersion: i.store.ResourceVersion(),
		Synced:          i.HasSynced(),
		ObjectErrors:    i.objectErrors.Load(),
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, l := range i.listeners {
		s.Handlers = append(s.Handlers, l.Stats())
	}
	return s
}
