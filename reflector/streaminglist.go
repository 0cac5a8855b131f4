package reflector

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/keys"
	"glasswatch/internal/rv"
	"glasswatch/listwatch"
)

// listStreaming is ListingStreaming: it opens the stream, then takes one event a step.
func (r *Reflector[T]) listStreaming(ctx context.Context) State {
	if r.stream == nil {
		r.listStart = time.Now()
		opts := metav1.ListOptions{
			SendInitialEvents:    new(true),
			ResourceVersion:      r.version, // no older, so that a relist never goes back in time
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}
		if r.askLatest {
			opts.ResourceVersion = ""
		}
		if err := r.openWatch(ctx, opts, r.opts.SilenceTimeout); err != nil {
			return r.leaveStreamingList(ctx, err)
		}
	}
	events, err := r.nextEvents()
	if err != nil {
		return r.leaveStreamingList(ctx, err)
	}
	for _, ev := range events { // there is room for one only
		switch ev.Type {
		case listwatch.Bookmark:
			if ev.InitialEventsEnd {
				return r.endStreamingList(ctx, ev.ResourceVersion)
			}
			return ListingStreaming // with the same deadline: the one that ends the list may never come
		case listwatch.Added, listwatch.Modified, listwatch.Deleted:
			r.stream.applyInitial(ev)
		}
	}
	r.stream.setDeadline(r.opts.SilenceTimeout)
	return ListingStreaming
}

// endStreamingList gives the sink the list. The stream goes on as a watch.
func (r *Reflector[T]) endStreamingList(ctx context.Context, version string) State {
	if version == "" {
		return r.leaveStreamingList(ctx, ErrEndedEarly)
	}
	s, list := r.stream, r.stream.initialList(version)
	s.setDeadline(2*r.opts.MinWatchTimeout + watchGrace)
	if r.opts.CheckConsistency && !r.isConsistent(ctx, list) {
		return r.leaveStreamingList(ctx, ErrInconsistent)
	}
	s.initial = nil
	r.replace(ctx, &r.stats.StreamingLists, list)
	s.watchStart = time.Now()
	s.from, s.at, s.pastInitial, s.useful = r.version, r.version, true, true
	return Watching
}

// leaveStreamingList decides what follows a streaming list that did not come to its end.
func (r *Reflector[T]) leaveStreamingList(ctx context.Context, err error) State {
	answered := r.stream.Stream != nil
	err = r.closeStream(err)
	if ctx.Err() != nil {
		return Stopped
	}
	kind := kindOf(err)
	// A server that does not even answer says nothing about streaming lists: the next list may well be one.
	if kind == kindUnsupported || kind == kindObject || kind == kindDeadline && answered ||
		errors.Is(err, ErrInconsistent) {
		r.pagedUntil = time.Now().Add(r.opts.StreamingRetry)
	}
	switch kind {
	case kindUnsupported:
		return ListingPaged // no failure: older servers do so
	case kindEnded:
		err = ErrEndedEarly
	case kindDeadline:
		err = ErrSilent
	}
	r.fail(ctx, "stream the list", err)
	switch {
	case (kind == kindExpired || kind == kindAhead) && !r.askLatest && r.version != "":
		r.askLatest = true
		return ListingStreaming
	case kind == kindBusy:
		return r.backOff(err, ListingStreaming)
	}
	return ListingPaged
}

// applyInitial takes over an event of an object: an initial one, or a change that happens meanwhile.
func (s *openStream[T]) applyInitial(ev listwatch.Event[T]) {
	if ev.Type != listwatch.Added && (s.initialUpTo == "" || rv.IsOlder(s.initialUpTo, ev.ResourceVersion)) {
		s.initialUpTo = ev.ResourceVersion
	}
	key := listwatch.KeyOf(ev.Object)
	s.initial[key] = ev.Object
	if ev.Type == listwatch.Deleted {
		delete(s.initial, key)
	}
}

// initialList returns what was gathered, sorted by namespace and name.
func (s *openStream[T]) initialList(version string) *listwatch.List[T] {
	if rv.IsOlder(version, s.initialUpTo) {
		version = s.initialUpTo // the end of the initial events came late
	}
	items := slices.SortedFunc(maps.Values(s.initial), keys.CompareObjects[T])
	return &listwatch.List[T]{Items: items, ResourceVersion: version}
}

// isConsistent compares a streaming list with a list at exactly its version. It is true as well if the server would not
// give that list, or gave one that cannot be read.
func (r *Reflector[T]) isConsistent(ctx context.Context, streamed *listwatch.List[T]) bool {
	opts := metav1.ListOptions{
		ResourceVersion:      streamed.ResourceVersion,
		ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	}
	list, err := listwatch.ListAll(ctx, r.lw, opts, defaultPageSize)
	versions := func(objs []T) map[listwatch.Key]string {
		versions := map[listwatch.Key]string{}
		for _, obj := range objs {
			versions[listwatch.KeyOf(obj)] = obj.GetResourceVersion()
		}
		return versions
	}
	return err != nil || len(list.Bad) > 0 || maps.Equal(versions(streamed.Items), versions(list.Items))
}
