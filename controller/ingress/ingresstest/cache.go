package ingresstest

import (
	"strconv"

	"glasswatch/listwatch"
)

// Cache is an informer's store that a test fills by hand.
type Cache[T listwatch.Object] struct {
	Objects map[listwatch.Key]T
	Version int
}

// GetByKey returns the object of a key.
func (c *Cache[T]) GetByKey(key listwatch.Key) (T, bool) {
	obj, found := c.Objects[key]
	return obj, found
}

// ResourceVersion is the version of the whole cache.
func (c *Cache[T]) ResourceVersion() string { return strconv.Itoa(c.Version) }
