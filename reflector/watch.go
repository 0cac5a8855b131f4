package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
)

// connect is Connecting.
func (r *Reflector[T]) connect(ctx context.Context) State {
	opts := metav1.ListOptions{ResourceVersion: r.version}
	if err := r.openWatch(ctx, opts, 2*r.opts.MinWatchTimeout+watchGrace); err != nil {
		return r.endWatch(ctx, err)
	}
	r.stream.watchStart = time.Now()
	r.update(func() { r.stats.Watches++ })
	return Watching
}

// watch is Watching: the events that are there. An example of a watch from 5, if the sink takes batches:
//
//	            ┌───────── one batch ─────────┐
//	event       Added 6  Modified 8  Bookmark 9            Modified 7     Added 4
//	from      5 5        5           5                     5              5: 4 is older, so ErrRewound
//	at        5 6        8           8, then 9             9: 7 is older  9
//	sink                             Add, Update; Bookmark Update
//	r.version 5 5        5           8, then 9             9              9
func (r *Reflector[T]) watch(ctx context.Context) State {
	s := r.stream
	events, err := r.nextEvents()
	if bad, ok := errors.AsType[*listwatch.ObjectError](err); ok {
		if bad.Key == (listwatch.Key{}) && s.pastInitial && !s.versionsMayFall && r.rereadFrom != r.version {
			// It does not name its object. If it was damaged on the way, it can be read when asked for once more.
			r.rereadFrom = r.version
			r.report(ctx, bad)
			r.closeStream(nil)
			return r.resuming()
		}
		if mayHideDeletion(bad) {
			// Only a list can tell what is gone, and only one of the latest state is surely past the deletion.
			r.fail(ctx, "watch", bad)
			r.closeStream(nil)
			r.askLatest = true
			return r.backOff(err, r.listing())
		}
		r.skip(ctx, bad)
		return Watching
	}
	if err != nil {
		return r.endWatch(ctx, err)
	}
	passed := 0
	for i := range events {
		ev := &events[i]
		// Some servers send a deletion with the version of the object that was deleted.
		rewound := s.pastInitial && !s.versionsMayFall && ev.Type != listwatch.Deleted &&
			rv.IsOlder(ev.ResourceVersion, s.from)
		isChange := listwatch.Added <= ev.Type && ev.Type <= listwatch.Deleted
		if isChange && !rewound {
			r.follow(ev.Type, ev.ResourceVersion)
			continue
		}
		r.pass(ctx, events[passed:i])
		passed = i + 1
		switch version := ev.ResourceVersion; {
		case rewound:
			return r.endWatch(ctx, ErrRewound)
		case ev.Type != listwatch.Bookmark:
			// Its type is none that a Stream may give.
		case !r.follow(listwatch.Bookmark, version): // so it is not old: the sink is past an old one
			if r.opts.Observe != nil {
				r.observe(Observation{Boundary: HandedOver, Op: "Bookmark", ResourceVersion: version})
			}
			r.checkSink(ctx, "Bookmark", listwatch.Key{}, r.sink.Bookmark(version))
			r.update(func() { r.stats.Bookmarks++ })
		}
	}
	r.pass(ctx, events[passed:])
	clear(events) // so that they keep nothing alive
	if n := len(events); n == len(s.room) && n < maxBatch && r.batches != nil {
		s.room = make([]listwatch.Event[T], 2*n)
	}
	return Watching
}

// maxBatch bounds a batch. A sink that takes none gets single events, so it does not hold up the version for long.
const maxBatch = 512

// follow moves the stream on to version. A watch from "" or "0" starts with an Added for each object that is there. The
// first other event ends these. An older version, or none, is no progress: resuming there would repeat history.
func (r *Reflector[T]) follow(typ listwatch.EventType, version string) (isOld bool) {
	s := r.stream
	s.pastInitial = s.pastInitial || typ != listwatch.Added
	switch {
	case !s.versionsMayFall && rv.IsOlder(version, s.at), version == "" && typ == listwatch.Bookmark:
		r.update(func() { r.stats.OldVersions++ })
		return true
	case s.pastInitial && version != "" && version != s.at:
		s.at, s.useful = version, true
	}
	return false
}

// sinkCalls are the Sink's methods by the type of the event that they take over.
var sinkCalls = [...]string{listwatch.Added: "Add", listwatch.Modified: "Update", listwatch.Deleted: "Delete"}

// pass gives the sink changes, several only if it takes batches. Then it takes over the stream's version.
func (r *Reflector[T]) pass(ctx context.Context, events []listwatch.Event[T]) {
	var errs []error
	if len(events) > 0 {
		if r.opts.Observe != nil {
			r.observe(Observation{Boundary: HandedOver, Events: shown(events)})
		}
		switch obj := events[0].Object; {
		case r.batches != nil:
			errs = r.batches.PutBatch(events)
		case events[0].Type == listwatch.Added:
			errs = []error{r.sink.Add(obj)}
		case events[0].Type == listwatch.Modified:
			errs = []error{r.sink.Update(obj)}
		default:
			errs = []error{r.sink.Delete(obj)}
		}
	}
	for i, err := range errs {
		if err != nil { // else the object is the sink's
			r.checkSink(ctx, sinkCalls[events[i].Type], listwatch.KeyOf(events[i].Object), err)
		}
	}
	r.stream.events += len(events)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = r.stream.at
	r.stats.Events += uint64(len(events))
}

// mayHideDeletion: the event is a deletion, or of an unknown type, and does not say of which object.
func mayHideDeletion(bad *listwatch.ObjectError) bool {
	return bad.Key == (listwatch.Key{}) && (bad.Type == listwatch.Deleted || bad.Type == 0)
}

// skip reports an unreadable event. It does not advance r.version; the next good event does. A deletion
// with a key reaches the sink as DeleteKey, so its version is taken over.
func (r *Reflector[T]) skip(ctx context.Context, bad *listwatch.ObjectError) {
	r.report(ctx, bad)
	if bad.Type != listwatch.Deleted || bad.Key == (listwatch.Key{}) {
		return
	}
	if r.opts.Observe != nil {
		keys := []listwatch.Key{bad.Key}
		r.observe(Observation{Boundary: HandedOver, Op: "DeleteKey", Keys: keys, ResourceVersion: bad.ResourceVersion})
	}
	r.checkSink(ctx, "DeleteKey", bad.Key, r.sink.DeleteKey(bad.Key))
	r.follow(bad.Type, bad.ResourceVersion)
	r.pass(ctx, nil)
}

// maxOutages: from so many failed watches in a row on, a list follows each. With the default Backoff: some minutes.
const maxOutages = 10

// endWatch decides what follows a watch that ended, or that could not be had. It goes on from where it was if that can
// be expected to work, else with a list.
func (r *Reflector[T]) endWatch(ctx context.Context, err error) State {
	answered, short := r.stream.Stream != nil, r.stream.isVeryShort()
	if answered && !short {
		r.outages = 0
	}
	err = r.closeStream(err)
	kind := kindOf(err)
	switch ended := answered && kind == kindEnded; {
	case ctx.Err() != nil:
		return Stopped
	case short && (ended || answered && kind == kindBroken):
		// Perhaps the server cannot serve watches from this resourceVersion; a list may get past that.
		err, kind = fmt.Errorf("%w (%v)", ErrVeryShortWatch, err), kindOther
	case ended, kind == kindDeadline:
		return r.resuming()
	}
	r.fail(ctx, "watch", err)
	r.askLatest = kind == kindAhead
	switch {
	case answered && kind == kindBroken:
		return r.resuming()
	case kind == kindBusy, kind == kindInternal && r.internal.within(time.Now(), r.opts.MaxInternalErrorRetry):
		return r.backOff(err, r.resuming())
	case kind == kindEnded, kind == kindBroken, kind == kindOutage:
		// It may be watches only that fail, as behind a proxy that cannot pass them on.
		r.outages++
		if r.outages < maxOutages {
			return r.backOff(err, r.resuming())
		}
	}
	return r.backOff(err, r.listing())
}

// resuming is the state that gets the next watch. A watch from "" or "0" starts with what is there, but does not tell
// what is gone. So it may come right after a list, but nothing is resumed with it.
func (r *Reflector[T]) resuming() State {
	if r.version == "" || r.version == "0" {
		return r.listing()
	}
	return Connecting
}
