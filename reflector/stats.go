package reflector

import "time"

// Stats counts what a reflector has done since New.
type Stats struct {
	StreamingLists uint64 // streaming lists that were complete
	PagedLists     uint64 // paged lists that were complete
	ListedObjects  uint64 // objects in those lists, unreadable ones included
	Watches        uint64 // watches that the server answered, without streaming lists
	EndedWatches   uint64 // watches that have ended, the second halves of streaming lists among them
	ShortWatches   uint64 // those of less than a second without anything worth having
	Events         uint64 // objects passed on from a watch
	Bookmarks      uint64 // bookmarks passed on
	OldVersions    uint64 // events and bookmarks older than what was there, and bookmarks without a version
	ObjectErrors   uint64 // events and list items that could not be read
	SinkErrors     uint64 // errors of the sink
	Failures       uint64 // errors of lists and watches

	ListTime  time.Duration // what the complete lists took, all together
	WatchTime time.Duration // what the ended watches took, all together
}

// Stats may be called at any time from any goroutine.
func (r *Reflector[T]) Stats() Stats { return read(&r.mu, &r.stats) }
