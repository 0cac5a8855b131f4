package reflector

import (
	"context"
	"errors"
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
		r.initial = &initialSet[T]{index: map[listwatch.Key]int{}}
	}
	s := r.stream
	s.silence.start()
	ev, err := s.Next()
	s.silence.pause()
	bad, isBad := errors.AsType[*listwatch.ObjectError](err)
	if err != nil && !isBad {
		return r.leaveStreamingList(ctx, s.explain(err))
	}
	if !isBad {
		r.observeEvents(EventsDecoded, []listwatch.Event[T]{ev})
	}
	switch {
	case ev.InitialEventsEnd:
		return r.endStreamingList(ctx, ev.ResourceVersion)
	case ev.Type == listwatch.Bookmark:
		// It counts as silence: the server is past the initial events, and may never say so.
		return ListingStreaming
	case isChange(ev.Type):
		r.initial.apply(ev)
	case !isBad:
		bad = unknownEvent(&ev)
	}
	s.silence.restart()
	if bad == nil {
		return ListingStreaming
	}
	r.reportBad(ctx, bad)
	if bad.Key == (listwatch.Key{}) {
		// Nobody can tell whose it is, so what it leaves out would count as deleted. Pages may be easier to read.
		return r.leaveStreamingList(ctx, bad)
	}
	r.initial.addBad(bad)
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
	s := r.stream
	if version == "" {
		return r.leaveStreamingList(ctx, ErrEndedEarly)
	}
	if isOlder(version, r.initial.upTo) {
		version = r.initial.upTo // the end came late
	}
	s.silence = nil
	if r.opts.CheckConsistency {
		if err := r.checkConsistency(ctx, r.initial, version); err != nil {
			return r.leaveStreamingList(ctx, err)
		}
	}
	items, keep := r.initial.items, r.initial.keep()
	r.initial = nil
	r.replace(ctx, &r.stats.StreamingLists, items, keep, version)
	r.update(func() { r.lastErr = nil })
	s.watchStart = time.Now()
	s.from, s.at, s.inOrder, s.useful = version, version, true, true
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
	paged := time.Now().Add(r.opts.StreamingRetry)
	if isStreamingRefused(err) {
		// Expected of older servers, so it is no failure. If something else is wrong, the paged list will say so.
		logger := klog.FromContext(ctx).V(2)
		logger.Info("Server refused a streaming list, listing in pages", "reflector", r.opts.Name, "err", err)
		r.pagedUntil = paged
		return ListingPaged
	}
	if isCleanEnd(err) {
		err = ErrEndedEarly
	}
	r.fail(ctx, "stream the list", err)
	switch {
	case isUnavailable(err) && !r.atLatest && r.version != "":
		r.atLatest = true
		return ListingStreaming
	case isBusy(err):
		return r.backOff(err, ListingStreaming)
	// A server that does not even answer says nothing about streaming lists: the next list may well be one.
	case errors.Is(err, ErrSilent) && answered, errors.Is(err, ErrInconsistent):
		r.pagedUntil = paged
	}
	return ListingPaged
}
