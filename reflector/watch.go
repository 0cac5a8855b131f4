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

// watch is Watching: one event.
func (r *Reflector[T]) watch(ctx context.Context) State {
	s := r.run.stream
	ev, err := s.Next()
	if err != nil {
		if bad := asObjectError(err); bad != nil {
			return r.unreadable(ctx, bad)
		}
		return r.endWatch(ctx, s.explain(err))
	}
	if s.isRewound(&ev) {
		return r.endWatch(ctx, ErrRewound)
	}
	if ev.Type == listwatch.Bookmark {
		r.takeBookmark(ctx, ev.ResourceVersion)
		return Watching
	}
	if err := r.pass(ctx, &ev); err != nil {
		r.skip(ctx, err)
		return Watching
	}
	// Versions of synthetic first events are in no order; the first event that is none of them ends them.
	if ev.Type != listwatch.Added {
		s.inOrder = true
	}
	if s.inOrder {
		r.advance(ev.ResourceVersion)
	}
	return Watching
}

// pass gives the sink an event's object. It returns an error only if it does not know what to do with the event.
func (r *Reflector[T]) pass(ctx context.Context, ev *listwatch.Event[T]) *listwatch.ObjectError {
	var op string
	var err error
	switch ev.Type {
	case listwatch.Added:
		op, err = "Add", r.sink.Add(ev.Object)
	case listwatch.Modified:
		op, err = "Update", r.sink.Update(ev.Object)
	case listwatch.Deleted:
		op, err = "Delete", r.sink.Delete(ev.Object)
	default:
		return &listwatch.ObjectError{Type: ev.Type, ResourceVersion: ev.ResourceVersion, Err: errUnknownEvent}
	}
	r.run.stream.events++
	r.counters.events.Add(1)
	if err != nil {
		r.reportSink(ctx, &SinkError{Op: op, Key: listwatch.KeyOf(ev.Object), Err: err})
	}
	return nil
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

// advance makes version the one to resume from. An older one than that of an event before is not taken over: resuming
// there would play history again. An event without one is no progress: the next watch may bring it again.
func (r *Reflector[T]) advance(version string) {
	s := r.run.stream
	switch {
	case s.isAbove(version):
	case version == "", version == s.at:
		return
	case isOlder(version, s.at):
		r.counters.oldVersions.Add(1)
		return
	default:
		s.passed = isNumber(version) && !isOlder(version, s.from)
	}
	s.at, s.useful = version, true
	r.setVersion(version)
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
