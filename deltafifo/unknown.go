package deltafifo

// DeleteUnknown is DeleteKey for a caller that knows a version of the object: the delta carries obj, as it is. obj is
// not transformed.
func (f *DeltaFIFO[K, T]) DeleteUnknown(key K, obj T) error {
	hash := f.items.hash(key)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced.firstEventLocked()
	if _, _, exists := f.lastLocked(key, hash); exists {
		f.appendLocked(hash, tombstone(key, obj, false))
	}
	return nil
}
