package indexer

import "glasswatch/internal/shrink"

// Go's maps keep the memory for the most entries that they ever had. Tables give theirs back by themselves.

// shrink makes the maps anew if they keep memory for far more than they have. Call it inside of write.
func (s *Store[K, T]) shrink() {
	if !shrink.IsDue(s.content.allocated(), s.content.inUse()) {
		return
	}
	smaller := s.content.clone()
	s.lockReadersOut(func() { s.content = smaller })
}

// inUse returns the number of entries in all maps.
func (c *content[K, T]) inUse() int {
	n := len(c.slots)
	for _, ix := range c.indices {
		n += len(ix.sets) + ix.members
	}
	return n
}

// allocated returns the number of entries that the maps keep memory for. A set that was dropped keeps none.
func (c *content[K, T]) allocated() int {
	n := c.peak
	for _, ix := range c.indices {
		n += ix.peak + ix.setPeaks
	}
	return n
}
