package sharedinformer

// Stopped reports whether the informer ran and takes no more handlers. Those it has may still be in their last calls: see
// [Informer.Done].
func (i *Informer[T]) Stopped() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stopped
}
