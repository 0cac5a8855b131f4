package indexer

import "maps"

// shrinkingMap is a map that gives memory back. Go's maps keep the memory for the most entries that they ever had.
type shrinkingMap[K comparable, V any] struct {
	entries map[K]V // only put and delete write to it
	peak    int     // the largest number of entries since the map was made
}

func newShrinkingMap[K comparable, V any](room int) shrinkingMap[K, V] {
	return shrinkingMap[K, V]{entries: make(map[K]V, room)}
}

func (m *shrinkingMap[K, V]) put(key K, value V) {
	m.entries[key] = value
	m.peak = max(m.peak, len(m.entries))
}

// delete removes an entry. When less than a quarter of the peak is left, it copies what is left to a smaller map. So
// for each entry that it ever copies, three were deleted.
func (m *shrinkingMap[K, V]) delete(key K) {
	delete(m.entries, key)
	if len(m.entries) < m.peak/4 {
		smaller := make(map[K]V, len(m.entries))
		maps.Copy(smaller, m.entries)
		m.entries, m.peak = smaller, len(smaller)
	}
}
