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
	if r.run.initial == nil {
		if err := r.openStreamingList(ctx); err != nil {
			return r.leaveStreamingList(ctx, err)
		}
		r.run.initial = newInitialSet[T]()
	}
	s := r.run.stream
	ev, err := s.Next()
	bad := asObjectError(err)
	switch {
	case bad != nil:
		r.run.initial.addBad(bad)
	case err != nil:
		return r.leaveStreamingList(ctx, s.explain(err))
	case ev.InitialEventsEnd:
		return r.endStreamingList(ctx, ev.ResourceVersion)
	default:
		bad = r.run.initial.apply(ev)
	}
	if bad != nil {
		r.reportBad(ctx, bad)
		if bad.Key == (listwatch.Key{}) {
			// Whose it is stays unknown, so what it leaves out would count as deleted. Pages may be easier to read.
			return r.leaveStreamingList(ctx, bad)
		}
	}
	// A bookmark that ends nothing is not a word of the list: who sends one is past the initial events, and may never say so.
	if ev.Type != listwatch.Bookmark {
		s.silence.feed()
	}
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
	if !r.run.atLatest {
		opts.ResourceVersion = r.LastSyncResourceVersion()
	}
	r.run.listStart = time.Now()
	return r.openWatch(ctx, opts, r.opts.SilenceTimeout)
}

// endStreamingList gives the sink the list. The stream goes on as a watch.
func (r *Reflector[T]) endStreamingList(ctx context.Context, version string) State {
	s := r.run.stream
	if version == "" {
		return r.leaveStreamingList(ctx, ErrEndedEarly)
	}
	if isOlder(version, r.run.initial.upTo) {
		version = r.run.initial.upTo // the end came late
	}
	s.silence.stop()
	s.silence = nil
	if r.opts.CheckConsistency {
		if err := r.checkConsistency(ctx, r.run.initial, version); err != nil {
			return r.leaveStreamingList(ctx, err)
		}
	}
	items, keep := r.run.initial.contents()
	r.run.initial = nil
	r.counters.streamingLists.Add(1)
	r.replace(ctx, items, keep, version)
	s.watchStart = time.Now()
	r.setLastError(nil)
	s.from, s.at, s.inOrder, s.above = version, version, true, 0
	s.useful = true
	return Watching
}

// leaveStreamingList decides what follows a streaming list that did not come to its end.
func (r *Reflector[T]) leaveStreamingList(ctx context.Context, err error) State {
	r.closeStream()
	answered := r.run.initial != nil
	r.run.initial = nil
	if ctx.Err() != nil {
		return Stopped
	}
	if isStreamingRefused(err) {
		// Expected of older servers, so it is no failure. If something else is wrong, the paged list will say so.
		klog.FromContext(ctx).V(2).Info("Server refused a streaming list, listing in pages", "reflector", r.opts.Name, "err", err)
		r.run.pagedUntil = time.Now().Add(r.opts.StreamingRetry)
		return ListingPaged
	}
	if isCleanEnd(err) && !errors.Is(err, ErrSilent) {
		err = ErrEndedEarly
	}
	r.fail(ctx, r.wrap("stream the list", err))
	switch {
	case isUnavailable(err) && !r.run.atLatest && r.LastSyncResourceVersion() != "":
		r.run.atLatest = true
		return ListingStreaming
	case isBusy(err):
		return r.backOff(err, ListingStreaming)
	// A server that does not even answer says nothing about streaming lists: the next list may well be one.
	case errors.Is(err, ErrSilent) && answered, errors.Is(err, ErrInconsistent):
		r.run.pagedUntil = time.Now().Add(r.opts.StreamingRetry)
	}
	return ListingPaged
}

// initialSet gathers the initial events of a streaming list, to which changes that happen meanwhile may belong.
type initialSet[T listwatch.Object] struct {
	items []T
	index map[listwatch.Key]int // Invariant: index[KeyOf(items[i])] == i, and nothing else.
	bad   map[listwatch.Key]struct{}
	// upTo is the newest version of a change that happened meanwhile. Those are in order, unlike the additions among which the
	// objects are that were there.
	upTo string
}

func newInitialSet[T listwatch.Object]() *initialSet[T] {
	return &initialSet[T]{index: map[listwatch.Key]int{}, bad: map[listwatch.Key]struct{}{}}
}

// apply takes an event over. It returns an error only if it does not know what to do with it.
func (l *initialSet[T]) apply(ev listwatch.Event[T]) *listwatch.ObjectError {
	isChange := ev.Type == listwatch.Modified || ev.Type == listwatch.Deleted
	if isChange && (l.upTo == "" || isOlder(l.upTo, ev.ResourceVersion)) {
		l.upTo = ev.ResourceVersion
	}
	switch ev.Type {
	case listwatch.Added, listwatch.Modified:
		key := listwatch.KeyOf(ev.Object)
		delete(l.bad, key)
		if i, ok := l.index[key]; ok {
			l.items[i] = ev.Object
			return nil
		}
		l.index[key] = len(l.items)
		l.items = append(l.items, ev.Object)
	case listwatch.Deleted:
		l.remove(listwatch.KeyOf(ev.Object))
	case listwatch.Bookmark: // ends nothing, and a list has a version of its own
	default:
		return &listwatch.ObjectError{Type: ev.Type, ResourceVersion: ev.ResourceVersion, Err: errUnknownEvent}
	}
	return nil
}

// addBad keeps the last good version, if there is one.
func (l *initialSet[T]) addBad(bad *listwatch.ObjectError) {
	switch {
	case bad.Key == (listwatch.Key{}):
	case bad.Type == listwatch.Deleted:
		l.remove(bad.Key)
	default:
		if _, ok := l.index[bad.Key]; !ok {
			l.bad[bad.Key] = struct{}{}
		}
	}
}

// remove puts the last item in the place of the one that goes.
func (l *initialSet[T]) remove(key listwatch.Key) {
	delete(l.bad, key)
	i, ok := l.index[key]
	if !ok {
		return
	}
	last := len(l.items) - 1
	l.items[i] = l.items[last]
	l.index[listwatch.KeyOf(l.items[i])] = i
	delete(l.index, key)
	clear(l.items[last:])
	l.items = l.items[:last]
}

func (l *initialSet[T]) contents() (items []T, keep []listwatch.Key) {
	for key := range l.bad {
		keep = append(keep, key)
	}
	return l.items, keep
}
