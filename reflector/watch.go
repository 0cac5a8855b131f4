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
	if err := r.openWatch(ctx, metav1.ListOptions{ResourceVersion: r.version}, 0); err != nil {
		return r.leaveWatch(ctx, err)
	}
	r.stream.watchStart = time.Now()
	r.update(func() {
		r.lastErr = nil
		r.stats.Watches++
	})
	return Watching
}

// watch is Watching: the events that are there, one at least.
func (r *Reflector[T]) watch(ctx context.Context) State {
	s := r.stream
	events, err := s.nextEvents()
	if err != nil {
		if bad, ok := errors.AsType[*listwatch.ObjectError](err); ok {
			return r.unreadable(ctx, bad)
		}
		return r.endWatch(ctx, s.explain(err))
	}
	defer clear(events) // so that they keep nothing alive
	r.observeEvents(EventsDecoded, events)
	passed := 0
	for i := range events {
		ev := &events[i]
		rewound := s.isRewound(ev)
		if isChange(ev.Type) && !rewound {
			r.follow(ev)
			continue
		}
		r.pass(ctx, events[passed:i])
		passed = i + 1
		switch {
		case rewound:
			return r.endWatch(ctx, ErrRewound)
		case ev.Type == listwatch.Bookmark:
			r.takeBookmark(ctx, ev)
		default:
			r.skip(ctx, unknownEvent(ev))
		}
	}
	r.pass(ctx, events[passed:])
	return Watching
}

// follow moves the stream on to the version of ev. Versions of synthetic first events are in no order; the first event
// that is not an addition ends them. An older version than before is not taken over: resuming there would play history
// again. An event without a version is no progress: the next watch may bring it again.
func (r *Reflector[T]) follow(ev *listwatch.Event[T]) {
	s := r.stream
	s.inOrder = s.inOrder || ev.Type != listwatch.Added
	switch version := ev.ResourceVersion; {
	case !s.inOrder, version == "", version == s.at:
	case s.isOld(version):
		r.update(func() { r.stats.OldVersions++ })
	default:
		s.at, s.useful = version, true
	}
}

// isChange: the event is about an object.
func isChange(t listwatch.EventType) bool { return t >= listwatch.Added && t <= listwatch.Deleted }

func unknownEvent[T listwatch.Object](ev *listwatch.Event[T]) *listwatch.ObjectError {
	return &listwatch.ObjectError{Type: ev.Type, ResourceVersion: ev.ResourceVersion, Err: errUnknownEvent}
}

// sinkCalls are the Sink's methods by the type of the event that they take over.
var sinkCalls = [...]string{listwatch.Added: "Add", listwatch.Modified: "Update", listwatch.Deleted: "Delete"}

// pass gives the sink changes, if there are any, and takes over the version up to which the stream was followed.
func (r *Reflector[T]) pass(ctx context.Context, events []listwatch.Event[T]) {
	if len(events) > 0 {
		r.observeEvents(EventsHanded, events)
	}
	if len(events) == 1 {
		r.checkSink(ctx, sinkCalls[events[0].Type], listwatch.KeyOf(events[0].Object), r.put(&events[0]))
	} else if len(events) > 1 { // so the sink takes batches
		for i, err := range r.batches.PutBatch(events) {
			r.checkSink(ctx, sinkCalls[events[i].Type], listwatch.KeyOf(events[i].Object), err)
		}
	}
	s := r.stream
	s.events += len(events)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = s.at
	r.stats.Events += uint64(len(events))
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

// takeBookmark passes on a bookmark, unless it is older than what was passed on already: the sink is past it.
func (r *Reflector[T]) takeBookmark(ctx context.Context, ev *listwatch.Event[T]) {
	s, version := r.stream, ev.ResourceVersion
	if version == "" || s.isOld(version) {
		s.inOrder = true
		r.update(func() { r.stats.OldVersions++ })
		return
	}
	r.show(Observation{Boundary: BookmarkHanded, ResourceVersion: version})
	r.checkSink(ctx, "Bookmark", listwatch.Key{}, r.sink.Bookmark(version))
	r.follow(ev)
	r.update(func() { r.stats.Bookmarks++ })
}

// unreadable passes over an event that could not be read. One that does not even tell whose it is, is asked for again
// first, once: garbage on the way, unlike a bad object, is gone the second time, and nobody else would notice the loss.
func (r *Reflector[T]) unreadable(ctx context.Context, bad *listwatch.ObjectError) State {
	if bad.Key == (listwatch.Key{}) && r.rereadFrom != r.version && r.stream.inOrder {
		r.rereadFrom = r.version
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
	r.show(Observation{Boundary: KeyHanded, Keys: []listwatch.Key{bad.Key}, ResourceVersion: bad.ResourceVersion})
	r.checkSink(ctx, "DeleteKey", bad.Key, r.sink.DeleteKey(bad.Key))
	r.follow(&listwatch.Event[T]{Type: bad.Type, ResourceVersion: bad.ResourceVersion})
	r.pass(ctx, nil)
}

// endWatch closes the stream after err and decides what follows.
func (r *Reflector[T]) endWatch(ctx context.Context, err error) State {
	short := r.stream.isVeryShort()
	r.closeStream()
	switch {
	case ctx.Err() != nil:
		return Stopped
	case errors.Is(err, ErrRewound):
		r.atLatest = true
	case isHTTP2Reset(err): // the next stream of a connection that is shut down may be reset at once
	case !isCleanEnd(err) && !isBroken(err):
	case short:
		// Perhaps it is the resourceVersion that the server cannot serve; a list gets past that.
		err = fmt.Errorf("%w (%w)", ErrVeryShortWatch, err)
		r.fail(ctx, "watch", err)
		return r.backOff(err, r.listing())
	case isCleanEnd(err):
		return r.resuming()
	default:
		r.fail(ctx, "watch", err)
		return r.resuming()
	}
	return r.leaveWatch(ctx, err)
}

// leaveWatch decides what follows a watch that could not be had, or that the server ended with an error. It goes on
// from where it was if that can be expected to work, else with a list.
func (r *Reflector[T]) leaveWatch(ctx context.Context, err error) State {
	if ctx.Err() != nil {
		return Stopped
	}
	// An overdue watch took its time, so another follows at once. An io.EOF here is a server that hangs up on every
	// request.
	if errors.Is(err, errOverdue) {
		return r.resuming()
	}
	r.fail(ctx, "watch", err)
	switch {
	case isTooLarge(err):
		r.atLatest = true
	case isBusy(err), isOutage(err):
		return r.backOff(err, r.resuming())
	case apierrors.IsInternalError(err) && r.internal.within(time.Now(), r.opts.MaxInternalErrorRetry):
		return r.backOff(err, r.resuming())
	}
	return r.backOff(err, r.listing())
}

// resuming is the state that gets the next watch. A watch from "" or "0" starts with what is there, but does not tell
// what is gone. So it can only follow a list.
func (r *Reflector[T]) resuming() State {
	if r.version == "" || r.version == "0" {
		return r.listing()
	}
	return Connecting
}

// isCleanEnd: the server ended the stream between two events, or this side did, because the server would not.
func isCleanEnd(err error) bool {
	return err == io.EOF || errors.Is(err, errOverdue)
}
