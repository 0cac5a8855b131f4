package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// connect is Connecting.
func (r *Reflector[T]) connect(ctx context.Context) State {
	err := r.openWatch(ctx, metav1.ListOptions{ResourceVersion: r.LastSyncResourceVersion()}, 0)
	if err != nil {
		return r.leaveWatch(ctx, err)
	}
	r.run.stream.watchStart = time.Now()
	r.counters.watches.Add(1)
	r.setLastError(nil)
	return Watching
}

// watch is Watching: the events that are there, one at least.
func (r *Reflector[T]) watch(ctx context.Context) State {
	s := r.run.stream
	events, err := s.nextEvents()
	if err != nil {
		if bad := asObjectError(err); bad != nil {
			return r.unreadable(ctx, bad)
		}
		return r.endWatch(ctx, s.explain(err))
	}
	defer clear(events) // so that they keep nothing alive
	passed := 0
	for i := range events {
		ev := &events[i]
		ahead := s.ahead(ev.ResourceVersion)
		if ahead == 0 && s.isRewound(ev) {
			r.pass(ctx, events[passed:i])
			return r.endWatch(ctx, ErrRewound)
		}
		if isChange(ev.Type) {
			r.follow(ev, ahead)
			continue
		}
		r.pass(ctx, events[passed:i])
		passed = i + 1
		if ev.Type == listwatch.Bookmark {
			r.takeBookmark(ctx, ev.ResourceVersion)
		} else {
			r.skip(ctx, &listwatch.ObjectError{Type: ev.Type, ResourceVersion: ev.ResourceVersion, Err: errUnknownEvent})
		}
	}
	r.pass(ctx, events[passed:])
	return Watching
}

// isChange: the event is one of an object.
func isChange(t listwatch.EventType) bool {
	return t == listwatch.Added || t == listwatch.Modified || t == listwatch.Deleted
}

// follow moves the stream on to the version of a change that is to be passed on.
func (r *Reflector[T]) follow(ev *listwatch.Event[T], ahead uint64) {
	s := r.run.stream
	// Versions of synthetic first events are in no order; the first event that is none of them ends them.
	if ev.Type != listwatch.Added {
		s.inOrder = true
	}
	if s.inOrder {
		r.moveTo(ev.ResourceVersion, ahead)
	}
}

// pass gives the sink changes, and takes over the version up to which they were followed.
func (r *Reflector[T]) pass(ctx context.Context, events []listwatch.Event[T]) {
	if len(events) == 0 {
		return
	}
	if len(events) > 1 { // so the sink takes batches
		for i, err := range r.batches.PutBatch(events) {
			r.refused(ctx, &events[i], err)
		}
	} else {
		for i := range events {
			r.refused(ctx, &events[i], r.put(&events[i]))
		}
	}
	r.run.stream.events += len(events)
	r.counters.events.Add(uint64(len(events)))
	r.setVersion(r.run.stream.at)
}

// put gives the sink one change.
func (r *Reflector[T]) put(ev *listwatch.Event[T]) error {
	switch ev.Type {
	case listwatch.Added:
		return r.sink.Add(ev.Object)
	case listwatch.Modified:
		return r.sink.Update(ev.Object)
	default:
		return r.sink.Delete(ev.Object)
	}
}

// refused reports what the sink said of a change, if that is an error.
func (r *Reflector[T]) refused(ctx context.Context, ev *listwatch.Event[T], err error) {
	if err == nil {
		return
	}
	op := "Delete"
	switch ev.Type {
	case listwatch.Added:
		op = "Add"
	case listwatch.Modified:
		op = "Update"
	}
	r.reportSink(ctx, &SinkError{Op: op, Key: listwatch.KeyOf(ev.Object), Err: err})
}

// takeBookmark passes on a bookmark, unless it is older than what was passed on already: the sink is past it.
func (r *Reflector[T]) takeBookmark(ctx context.Context, version string) {
	s := r.run.stream
	s.inOrder = true
	if version == "" || isOlder(version, s.at) {
		r.counters.oldVersions.Add(1)
		return
	}
	if err := r.sink.Bookmark(version); err != nil {
		r.reportSink(ctx, &SinkError{Op: "Bookmark", Err: err})
	}
	r.counters.bookmarks.Add(1)
	r.advance(version)
}

// advance makes version the one to resume from, if it is newer.
func (r *Reflector[T]) advance(version string) {
	r.moveTo(version, r.run.stream.ahead(version))
	r.setVersion(r.run.stream.at)
}

// moveTo moves the stream on to version. An older one than that of an event before is not taken over: resuming there would
// play history again. An event without one is no progress: the next watch may bring it again.
// ahead is what the stream says of it.
func (r *Reflector[T]) moveTo(version string, ahead uint64) {
	s := r.run.stream
	switch {
	case ahead != 0:
	case version == "", version == s.at:
		return
	case isOlder(version, s.at):
		r.counters.oldVersions.Add(1)
		return
	case !isOlder(version, s.from):
		ahead = number(version)
	}
	s.at, s.above, s.useful = version, ahead, true
}

// unreadable passes over an event that could not be read. One that does not even tell whose it is, is asked for again
// first, once: garbage on the way, unlike a bad object, is gone the second time, and nobody else would notice the loss.
func (r *Reflector[T]) unreadable(ctx context.Context, bad *listwatch.ObjectError) State {
	version := r.LastSyncResourceVersion()
	if bad.Key == (listwatch.Key{}) && r.run.rereadFrom != version && r.run.stream.inOrder {
		r.run.rereadFrom = version
		r.reportBad(ctx, bad)
		r.closeStream()
		return r.resuming()
	}
	r.skip(ctx, bad)
	return Watching
}

// skip passes over an event that could not be read. Its version is not taken over, as the next good event's will be;
// that of a deletion is, as the sink has it.
func (r *Reflector[T]) skip(ctx context.Context, bad *listwatch.ObjectError) {
	r.reportBad(ctx, bad)
	if bad.Type != listwatch.Deleted || bad.Key == (listwatch.Key{}) {
		return
	}
	if err := r.sink.DeleteKey(bad.Key); err != nil {
		r.reportSink(ctx, &SinkError{Op: "DeleteKey", Key: bad.Key, Err: err})
	}
	r.run.stream.inOrder = true
	r.advance(bad.ResourceVersion)
}

func (r *Reflector[T]) reportBad(ctx context.Context, bad *listwatch.ObjectError) {
	r.counters.objectErrors.Add(1)
	r.report(ctx, bad)
}

// endWatch closes the stream after err and decides what follows.
func (r *Reflector[T]) endWatch(ctx context.Context, err error) State {
	short := r.run.stream.isVeryShort()
	r.closeStream()
	clean := isCleanEnd(err)
	switch {
	case ctx.Err() != nil:
		return Stopped
	case errors.Is(err, ErrRewound):
		r.run.atLatest = true
	case short && (clean || isBroken(err)):
		// Perhaps it is the resourceVersion that the server cannot serve; a list gets past that.
		err = fmt.Errorf("%w (%w)", ErrVeryShortWatch, err)
		r.fail(ctx, r.wrap("watch", err))
		return r.backOff(err, r.listing())
	case clean:
		return r.resuming()
	case isBroken(err):
		r.fail(ctx, r.wrap("watch", err))
		return r.resuming()
	}
	return r.leaveWatch(ctx, err)
}

// leaveWatch decides what follows a watch that could not be had, or that the server ended with an error. It goes on from
// where it was if that can be expected to work, else with a list.
func (r *Reflector[T]) leaveWatch(ctx context.Context, err error) State {
	if ctx.Err() != nil {
		return Stopped
	}
	// Only what took its time is followed by another at once: an io.EOF here is a server that hangs up on every request.
	if errors.Is(err, errOverdue) {
		return r.resuming()
	}
	r.fail(ctx, r.wrap("watch", err))
	switch {
	case isTooLarge(err):
		r.run.atLatest = true
	case isBusy(err), isOutage(err):
		return r.backOff(err, r.resuming())
	case apierrors.IsInternalError(err) && r.run.internal.within(time.Now(), r.opts.MaxInternalErrorRetry):
		return r.backOff(err, r.resuming())
	}
	return r.backOff(err, r.listing())
}

// resuming is the state that gets the next watch. One from "" or "0" starts with what is there, but not with what is
// gone, so it can only follow a list.
func (r *Reflector[T]) resuming() State {
	if version := r.LastSyncResourceVersion(); version == "" || version == "0" {
		return r.listing()
	}
	return Connecting
}

// isCleanEnd: the server ended the stream between two events, or this side did, because the server would not.
func isCleanEnd(err error) bool {
	return err == io.EOF || errors.Is(err, errOverdue) || errors.Is(err, ErrSilent)
}
