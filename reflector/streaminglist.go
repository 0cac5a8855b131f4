package reflector

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// listStreaming is ListingStreaming: it opens the stream, then takes one event a step.
func (r *Reflector[T]) listStreaming(ctx context.Context) State {
	if r.initial == nil {
		r.listStart = time.Now()
		initialEvents := true
		opts := metav1.ListOptions{
			SendInitialEvents:    &initialEvents,
			ResourceVersion:      r.version, // no older, so that a relist never goes back in time
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}
		if r.atLatest {
			opts.ResourceVersion = ""
		}
		if err := r.openWatch(ctx, opts, r.opts.SilenceTimeout); err != nil {
			return r.leaveStreamingList(ctx, err)
		}
		r.initial = &initialSet[T]{objects: map[listwatch.Key]T{}}
	}
	events, err := r.nextEvents()
	if err != nil {
		return r.leaveStreamingList(ctx, err)
	}
	switch ev := events[0]; { // there is room for one only
	case ev.InitialEventsEnd:
		return r.endStreamingList(ctx, ev.ResourceVersion)
	case isChange(ev.Type):
		// A bookmark counts as silence: the server is past the initial events, and may never say so.
		r.initial.apply(ev)
		r.stream.idle.reset(r.opts.SilenceTimeout)
	}
	return ListingStreaming
}

// endStreamingList gives the sink the list. The stream goes on as a watch.
func (r *Reflector[T]) endStreamingList(ctx context.Context, version string) State {
	if version == "" {
		return r.leaveStreamingList(ctx, ErrEndedEarly)
	}
	s, list := r.stream, r.initial.list(version)
	s.idle.reset(2*r.opts.MinWatchTimeout + watchGrace)
	if r.opts.CheckConsistency && !r.isConsistent(ctx, list) {
		return r.leaveStreamingList(ctx, ErrInconsistent)
	}
	r.initial = nil
	r.replace(ctx, &r.stats.StreamingLists, list)
	s.watchStart = time.Now()
	s.from, s.at, s.inOrder, s.useful = r.version, r.version, true, true
	return Watching
}

// leaveStreamingList decides what follows a streaming list that did not come to its end.
func (r *Reflector[T]) leaveStreamingList(ctx context.Context, err error) State {
	err = r.closeStream(err)
	answered := r.initial != nil
	r.initial = nil
	if ctx.Err() != nil {
		return Stopped
	}
	kind := kindOf(err)
	// A server that does not even answer says nothing about streaming lists: the next list may well be one.
	if kind == kindUnsupported || errors.Is(err, ErrSilent) && answered || errors.Is(err, ErrInconsistent) {
		r.pagedUntil = time.Now().Add(r.opts.StreamingRetry)
	}
	switch kind {
	case kindUnsupported:
		return ListingPaged // no failure: older servers do so
	case kindEnded:
		err = ErrEndedEarly
	}
	r.fail(ctx, "stream the list", err)
	switch {
	case (kind == kindExpired || kind == kindTooLarge) && !r.atLatest && r.version != "":
		r.atLatest = true
		return ListingStreaming
	case kind == kindBusy:
		return r.backOff(err, ListingStreaming)
	}
	return ListingPaged
}
