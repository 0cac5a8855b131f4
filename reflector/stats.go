package reflector

import (
	"sync/atomic"
	"time"
)

// Stats counts what a reflector has done since New. The fields are read one after the other: they need not be of one
// moment.
type Stats struct {
	StreamingLists uint64 // streaming lists that were complete
	PagedLists     uint64 // paged lists that were complete
	ListedObjects  uint64 // objects in those lists, unreadable ones included
	Watches        uint64 // watches that the server answered, without streaming lists
	EndedWatches   uint64 // watches that have ended, the second halves of streaming lists among them
	ShortWatches   uint64 // those of less than a second without anything worth having
	Events         uint64 // objects passed on from a watch
	Bookmarks      uint64 // bookmarks passed on
	OldVersions    uint64 // events and bookmarks older than what was there, which did not set the resourceVersion back
	ObjectErrors   uint64 // events and list items that could not be read
	SinkErrors     uint64 // errors of the sink
	Failures       uint64 // errors of lists and watches
	Resyncs        uint64 // resyncs that the sink took

	ListTime  time.Duration // what the complete lists took, all together
	WatchTime time.Duration // what the ended watches took, all together
}

type counters struct {
	streamingLists, pagedLists, watches, events, bookmarks, oldVersions atomic.Uint64
	objectErrors, sinkErrors, failures, resyncs                         atomic.Uint64
	listedObjects, endedWatches, shortWatches                           atomic.Uint64
	listTime, watchTime                                                 atomic.Int64
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
		ListedObjects:  c.listedObjects.Load(),
		EndedWatches:   c.endedWatches.Load(),
		ShortWatches:   c.shortWatches.Load(),
		ListTime:       time.Duration(c.listTime.Load()),
		WatchTime:      time.Duration(c.watchTime.Load()),
	}
}

// listDone notes a list that the sink is about to be given.
func (r *Reflector[T]) listDone(objects int) {
	took := time.Since(r.run.listStart)
	r.counters.listedObjects.Add(uint64(objects))
	r.counters.listTime.Add(int64(took))
	if r.opts.OnList != nil {
		r.opts.OnList(objects, took)
	}
}

// watchDone notes the end of a stream that was a watch.
func (r *Reflector[T]) watchDone(s *openStream[T]) {
	took := time.Since(s.watchStart)
	r.counters.endedWatches.Add(1)
	r.counters.watchTime.Add(int64(took))
	if s.isVeryShort() {
		r.counters.shortWatches.Add(1)
	}
	if r.opts.OnWatch != nil {
		r.opts.OnWatch(s.events, took)
	}
}
