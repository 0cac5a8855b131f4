package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
	"glasswatch/observe"
)

// connect asks for a watch.
func (r *Reflector[T]) connect(ctx context.Context) *state[T] {
	s, err := r.openStream(ctx, metav1.ListOptions{ResourceVersion: r.versionFor(Connecting)}, r.opts.watchDeadline())
	if err != nil {
		return r.follow(ctx, err)
	}
	r.update(func() { r.stats.Watches++ })
	return r.watching(s)
}

// liveWatch is what Watching needs. An example of a watch from 5, if the sink takes batches:
//
//	            ┌───────── one batch ─────────┐
//	event       Added 6  Modified 8  Bookmark 9            Modified 7  Added 4
//	newest    5 6        8           9                     9           ErrRewound
//	sink        -        -           Add, Update; Bookmark Update      -
//	r.version 5 5        5           8;           9        9           9
//
// Invariant: r.version is newest, between two steps. Within a step it follows once the sink has the events.
type liveWatch[T listwatch.Object] struct {
	r         *Reflector[T]
	stream    *stream[T]
	from      string // the version that the watch began at
	newest    string // the newest version of an event
	unordered bool   // Versions may fall. They are not compared: the last one is the newest.
	began     time.Time
}

// maxBatch bounds a batch, so that the version is never behind for long.
const maxBatch = 128

// watching is a watch that begins on s, at the version that the sink has.
func (r *Reflector[T]) watching(s *stream[T]) *state[T] {
	w := &liveWatch[T]{r: r, stream: s, from: r.version, newest: r.version, began: time.Now()}
	// A fake clientset has no server that gives versions: its objects keep those that a test gave them, in any order.
	if u, ok := s.source.(interface{ UnorderedVersions() bool }); ok {
		w.unordered = u.UnorderedVersions()
	}
	if w.unordered { // No API server is there to end the watch at its timeout.
		s.removeDeadline()
	}
	if r.batches != nil {
		s.room = make([]listwatch.Event[T], maxBatch)
	}
	s.events = 0
	s.onClose = w.count
	return &state[T]{name: Watching, step: w.step, stream: s}
}

// step waits for events, and gives them to the sink.
func (w *liveWatch[T]) step(ctx context.Context) *state[T] {
	events, err := w.r.nextEvents(w.stream)
	if err != nil {
		return w.failed(ctx, err)
	}
	defer clear(events) // so that the objects can be collected
	err = w.take(ctx, events)
	if err != nil {
		return w.failed(ctx, err)
	}
	return w.r.current
}

// take gives the sink events: changes in a row in one call, a bookmark in a call of its own. It stops at an event that
// shows that the server was set back.
func (w *liveWatch[T]) take(ctx context.Context, events []listwatch.Event[T]) error {
	done := 0 // events before this one have been dealt with
	for i, ev := range events {
		rewound := w.isRewound(ev)
		if isChange(ev.Type) && !rewound {
			w.advance(ev.Type, ev.ResourceVersion)
			continue // It is given together with the changes that follow.
		}
		w.handOver(ctx, events[done:i])
		done = i + 1
		if rewound {
			return ErrRewound
		}
		if ev.Type == listwatch.Bookmark {
			w.bookmark(ctx, ev.ResourceVersion)
		}
	}
	w.handOver(ctx, events[done:])
	return nil
}

func (w *liveWatch[T]) isOlder(version, than string) bool {
	return !w.unordered && rv.IsOlder(version, than)
}

// isRewound reports whether an event shows that the server was set back: it is older than the start of the watch. But
// some servers send a deletion with the version of the object that was deleted.
func (w *liveWatch[T]) isRewound(ev listwatch.Event[T]) bool {
	return ev.Type != listwatch.Deleted && w.isOlder(ev.ResourceVersion, w.from)
}

// advance moves the watch on to the version of an event, if that is a newer one.
func (w *liveWatch[T]) advance(typ listwatch.EventType, version string) {
	// A watch from any version starts with an Added for each object that is there, in no order. The first other event
	// with a version ends these.
	initial := typ == listwatch.Added && !isKnown(w.newest)
	if initial || version == noVersion || version == w.newest || w.isOlder(version, w.newest) {
		return
	}
	w.newest = version
	w.stream.useful = true
}

// commit makes the newest version the reflector's: the sink has everything up to there.
func (w *liveWatch[T]) commit() { w.r.update(func() { w.r.version = w.newest }) }

// handOver gives the sink changes, if there are any.
func (w *liveWatch[T]) handOver(ctx context.Context, events []listwatch.Event[T]) {
	if len(events) == 0 {
		return
	}
	r := w.r
	r.put(ctx, events)
	r.update(func() { r.stats.Events += uint64(len(events)) })
	w.commit()
}

// bookmark tells the sink of a bookmark, unless it is older than the events before it, or has no version.
func (w *liveWatch[T]) bookmark(ctx context.Context, version string) {
	r := w.r
	if version == noVersion || w.isOlder(version, w.newest) {
		return
	}
	r.observeOne(observe.Handed, observation{Kind: "Bookmark", Version: version})
	r.checkSink(ctx, "Bookmark", listwatch.Key{}, r.sink.Bookmark(version))
	r.update(func() { r.stats.Bookmarks++ })
	w.advance(listwatch.Bookmark, version)
	w.commit()
}

// failed follows an error: of an event, or the end of the watch.
func (w *liveWatch[T]) failed(ctx context.Context, err error) *state[T] {
	watchesWork := !w.stream.isVeryShort()
	if watchesWork {
		w.r.outages = 0
	}
	if bad, unreadable := errors.AsType[*listwatch.ObjectError](err); unreadable {
		return w.unreadable(ctx, bad, err)
	}
	switch kind := kindOf(err); {
	case kind == kindOverdue:
		w.r.log(ctx, 2, "The server did not end the watch at its timeout, so this side does, and another follows", "totalItems", w.stream.events)
	case kind == kindEnded && watchesWork:
		w.r.log(ctx, 4, "Watch close", "totalItems", w.stream.events)
	}
	return w.r.follow(ctx, err)
}

// unreadable follows err: bad could not be read. The version does not move past it, unless it is a deletion whose key
// can be read: the sink is told of that.
func (w *liveWatch[T]) unreadable(ctx context.Context, bad *listwatch.ObjectError, err error) *state[T] {
	hasKey := bad.Key != (listwatch.Key{})
	if !hasKey && w.canAskAgain() {
		w.r.rereadFrom = w.r.version
		return w.r.follow(ctx, fmt.Errorf("%w: %w", errAskedAgain, err))
	}
	next := w.r.follow(ctx, err)
	if hasKey && bad.Type == listwatch.Deleted {
		w.deleteKey(ctx, bad.Key, bad.ResourceVersion)
	}
	return next
}

// canAskAgain reports whether the next watch may bring an event again, which may have been damaged on the way. It does so
// only from a known version, and once is enough. A fake sends nothing again.
func (w *liveWatch[T]) canAskAgain() bool {
	return isKnown(w.r.version) && w.r.version != w.r.rereadFrom && !w.unordered
}

// deleteKey tells the sink of a deletion whose object cannot be read.
func (w *liveWatch[T]) deleteKey(ctx context.Context, key listwatch.Key, version string) {
	w.r.observeOne(observe.Handed, observation{Kind: "DeleteKey", Key: key, FinalStateUnknown: true})
	w.r.checkSink(ctx, "DeleteKey", key, w.r.sink.DeleteKey(key))
	w.advance(listwatch.Deleted, version)
	w.commit()
}

// count adds the watch to Stats once it has ended.
func (w *liveWatch[T]) count() {
	r, took := w.r, time.Since(w.began)
	r.update(func() {
		r.stats.EndedWatches++
		r.stats.WatchTime += took
		if w.stream.isVeryShort() {
			r.stats.ShortWatches++
		}
	})
}
