package reflector

import "sync/atomic"

// Stats counts what a reflector has done since New. The fields are read one after the other: they need not be of one
// moment.
type Stats struct {
	StreamingLists uint64 // streaming lists that were complete
	PagedLists     uint64 // paged lists that were complete
	Watches        uint64 // watches that the server answered, without streaming lists
	Events         uint64 // objects passed on from a watch
	Bookmarks      uint64 // bookmarks passed on
	OldVersions    uint64 // events and bookmarks older than what was there, which did not set the resourceVersion back
	ObjectErrors   uint64 // events and list items that could not be read
	SinkErrors     uint64 // errors of the sink
	Failures       uint64 // errors of lists and watches
	Resyncs        uint64 // resyncs that the sink took
}

type counters struct {
	streamingLists, pagedLists, watches, events, bookmarks, oldVersions atomic.Uint64
	objectErrors, sinkErrors, failures, resyncs                         atomic.Uint64
}

// Stats may be called at any time from any goroutine.
func (r *Reflector[T]) Stats() Stats {
	c := &r.counters
	return Stats{
		StreamingLists: c.streamingLists.Load(),
		PagedLists:     c.pagedLists.Load(),
		Watches:        c.watches.Load(),
		Events:         c.events.Load(),
		Bookmarks:      c.bookmarks.Load(),
		OldVersions:    c.oldVersions.Load(),
		ObjectErrors:   c.objectErrors.Load(),
		SinkErrors:     c.sinkErrors.Load(),
		Failures:       c.failures.Load(),
		Resyncs:        c.resyncs.Load(),
	}
}
