package reflector

import (
	"context"
	"errors"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
)

// listStreaming is ListingStreaming: it opens the stream, then takes one event a step.
func (r *Reflector[T]) listStreaming(ctx context.Context) State {
	if r.initial == nil {
		if err := r.openStreamingList(ctx); err != nil {
			return r.leaveStreamingList(ctx, err)
		}
		r.initial = &initialSet[T]{objects: map[listwatch.Key]initialObject[T]{}}
	}
	events, err := r.nextEvents()
	bad, isBad := errors.AsType[*listwatch.ObjectError](err)
	if err != nil && !isBad {
		return r.leaveStreamingList(ctx, err)
	}
	if !isBad {
		ev := events[0] // there is room for one only
		switch {
		case ev.InitialEventsEnd:
			return r.endStreamingList(ctx, ev.ResourceVersion)
		case ev.Type == listwatch.Bookmark:
			// It counts as silence: the server is past the initial events, and may never say so.
			return ListingStreaming
		case isChange(ev.Type):
			r.initial.apply(ev)
			r.stream.idle.reset(r.opts.SilenceTimeout)
			return ListingStreaming
		}
		bad = unknownEvent(&ev)
	}
	r.reportBad(ctx, bad)
	if bad.Key == (listwatch.Key{}) {
		// Nobody knows whose it is, so what it leaves out would count as deleted. Pages may be easier to read.
		return r.leaveStreamingList(ctx, bad)
	}
	r.initial.applyBad(bad)
	r.stream.idle.reset(r.opts.SilenceTimeout)
	return ListingStreaming
}

// openStreamingList asks for a state no older than the last version, so that a relist never goes back in time; or, if
// the server does not have that, for the latest.
func (r *Reflector[T]) openStreamingList(ctx context.Context) error {
	initialEvents := true
	opts := metav1.ListOptions{
		SendInitialEvents:    &initialEvents,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
	if !r.atLatest {
		opts.ResourceVersion = r.version
	}
	r.listStart = time.Now()
	return r.openWatch(ctx, opts, r.opts.SilenceTimeout)
}

// endStreamingList gives the sink the list. The stream goes on as a watch.
func (r *Reflector[T]) endStreamingList(ctx context.Context, version string) State {
	if version == "" {
		return r.leaveStreamingList(ctx, ErrEndedEarly)
	}
	s, list := r.stream, r.initial.list(version)
	s.idle.reset(s.timeout)
	if r.opts.CheckConsistency {
		if err := r.checkConsistency(ctx, list); err != nil {
			return r.leaveStreamingList(ctx, err)
		}
	}
	r.initial = nil
	r.replace(ctx, &r.stats.StreamingLists, list)
	r.update(func() { r.lastErr = nil })
	s.watchStart = time.Now()
	s.from, s.at, s.inOrder, s.useful = r.version, r.version, true, true
	return Watching
}

// leaveStreamingList decides what follows a streaming list that did not come to its end.
func (r *Reflector[T]) leaveStreamingList(ctx context.Context, err error) State {
	r.closeStream()
	answered := r.initial != nil
	r.initial = nil
	if ctx.Err() != nil {
		return Stopped
	}
	kind := kindOf(err)
	if kind == kindUnsupported {
		// Expected of older servers, so it is no failure. If something else is wrong, the paged list will say so.
		logger := klog.FromContext(ctx).V(2)
		logger.Info("Server refused a streaming list, listing in pages", "reflector", r.opts.Name, "err", err)
		r.pagedUntil = time.Now().Add(r.opts.StreamingRetry)
		return ListingPaged
	}
	if err == io.EOF {
		err = ErrEndedEarly
	}
	r.fail(ctx, "stream the list", err)
	switch {
	case isUnavailable(err) && !r.atLatest && r.version != "":
		r.atLatest = true
		return ListingStreaming
	case kind == kindBusy:
		return r.backOff(err, ListingStreaming)
	// A server that does not even answer says nothing about streaming lists: the next list may well be one.
	case errors.Is(err, ErrSilent) && answered, errors.Is(err, ErrInconsistent):
		r.pagedUntil = time.Now().Add(r.opts.StreamingRetry)
	}
	return ListingPaged
}
