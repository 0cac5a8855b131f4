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

func (r *Reflector[T]) connecting() *state[T] { return &state[T]{name: Connecting, step: r.connect} }

// connect asks for a watch.
func (r *Reflector[T]) connect(ctx context.Context) *state[T] {
	s, err := r.openStream(ctx, metav1.ListOptions{ResourceVersion: r.version}, r.opts.watchDeadline())
	if err != nil {
		return r.follow(ctx, kindOf(err), r.version, err)
	}
	r.update(func() { r.stats.Watches++ })
	return r.watching(s, s.opened.Add(time.Second))
}

// liveWatch is what Watching needs. An example of a watch from 5, if the sink takes batches:
//
//	            ┌───────── one batch ─────────┐
//	event       Added 6  Modified 8  Bookmark 9            Modified 7     Added 4
//	from      5 5        5           5                     5              5: 4 is older, so ErrRewound
//	newest    5 6        8           8, then 9             9: 7 is older  9
//	sink        -        -           Add, Update; Bookmark Update         -
//	r.version 5 5        5           8, then 9             9              9
//
// Invariant: r.version is newest, between two steps. Within a step it follows once the sink has the events.
type liveWatch[T listwatch.Object] struct {
	r      *Reflector[T]
	stream *stream[T]
	from   string // the version that it began at; an older event shows that the server was set back
	newest string // the newest version of an event; an older event is counted, and passed on all the same
	// versionsMayFall: they are not compared; the last one counts.
	versionsMayFall bool
	// shortUntil: a watch that ends before is very short. It is zero once it brought something worth having.
	shortUntil time.Time
	began      time.Time
	events     int // how many came, bookmarks among them
	passed     int // objects
}

// watching is a watch that begins on s, at the version that the sink has.
func (r *Reflector[T]) watching(s *stream[T], shortUntil time.Time) *state[T] {
	w := &liveWatch[T]{r: r, stream: s, from: r.version, newest: r.version, shortUntil: shortUntil, began: time.Now()}
	// A fake clientset has no server that gives versions: its objects keep those that a test gave them, in any order.
	if u, ok := s.source.(interface{ UnorderedVersions() bool }); ok {
		w.versionsMayFall = u.UnorderedVersions()
	}
	s.onClose = w.count
	return &state[T]{name: Watching, step: w.step, stream: s}
}

// step gives the sink the events that are there.
func (w *liveWatch[T]) step(ctx context.Context) *state[T] {
	events, err := w.r.nextEvents(w.stream)
	if bad, ok := errors.AsType[*listwatch.ObjectError](err); ok {
		return w.unreadable(ctx, bad)
	}
	if err != nil {
		return w.failed(ctx, err)
	}
	w.events += len(events)
	done := 0 // how many of the events need no more work
	for i := range events {
		ev := &events[i]
		// Some servers send a deletion with the version of the object that was deleted.
		rewound := ev.Type != listwatch.Deleted && w.isOlder(ev.ResourceVersion, w.from)
		if isChange(ev.Type) && !rewound {
			w.advance(ev.Type, ev.ResourceVersion)
			continue
		}
		w.handOver(ctx, events[done:i])
		done = i + 1
		if rewound {
			return w.failed(ctx, ErrRewound)
		}
		if ev.Type == listwatch.Bookmark { // another type is none that a Stream may give
			w.bookmark(ctx, ev.ResourceVersion)
		}
	}
	w.handOver(ctx, events[done:])
	clear(events) // so that they keep nothing alive
	if n := len(events); n == len(w.stream.room) && n < maxBatch && w.r.batches != nil {
		w.stream.room = make([]listwatch.Event[T], 2*n)
	}
	return w.r.current
}

// maxBatch bounds a batch. A sink that takes no batches gets single events, so the version is never behind for long.
const maxBatch = 512

// isChange: the event has an object.
func isChange(typ listwatch.EventType) bool {
	return listwatch.Added <= typ && typ <= listwatch.Deleted
}

func (w *liveWatch[T]) isOlder(version, than string) bool {
	return !w.versionsMayFall && rv.IsOlder(version, than)
}

// advance moves the watch on to the version of an event. An older version, or none, is no progress: resuming there
// would repeat history. A watch from "" or "0" starts with an Added for each object that is there, in no order. The
// first other event with a version ends these.
func (w *liveWatch[T]) advance(typ listwatch.EventType, version string) {
	synthetic := typ == listwatch.Added && isAny(w.newest)
	switch {
	case w.isOlder(version, w.newest):
		w.r.update(func() { w.r.stats.OldVersions++ })
	case version != "" && version != w.newest && !synthetic:
		w.newest = version
		w.shortUntil = time.Time{}
	}
}

// handOver gives the sink changes, if there are any, and then takes the version over.
func (w *liveWatch[T]) handOver(ctx context.Context, events []listwatch.Event[T]) {
	if len(events) == 0 {
		return
	}
	r := w.r
	r.put(ctx, events)
	w.passed += len(events)
	r.update(func() {
		r.stats.Events += uint64(len(events))
		r.version = w.newest
	})
}

// bookmark tells the sink of a bookmark, unless the sink is past it.
func (w *liveWatch[T]) bookmark(ctx context.Context, version string) {
	r := w.r
	if version == "" || w.isOlder(version, w.newest) {
		r.update(func() { r.stats.OldVersions++ })
		return
	}
	w.advance(listwatch.Bookmark, version)
	r.tell(ctx, observation{Kind: "Bookmark", Version: version}, func() error { return r.sink.Bookmark(version) })
	r.update(func() {
		r.stats.Bookmarks++
		r.version = w.newest
	})
}

// unreadable decides what follows an event that cannot be read. The version stays until the next good event,
// but for a deletion with a key: see deleteKey.
func (w *liveWatch[T]) unreadable(ctx context.Context, bad *listwatch.ObjectError) *state[T] {
	if bad.Key == (listwatch.Key{}) {
		kind := w.kindOfUnnamed(bad)
		if kind == kindUnnamed {
			w.r.rereadFrom = w.r.version
		}
		return w.r.follow(ctx, kind, w.from, bad)
	}
	next := w.r.follow(ctx, kindObject, w.from, bad)
	if bad.Type == listwatch.Deleted {
		w.deleteKey(ctx, bad)
	}
	return next
}

// kindOfUnnamed is the kind of an unreadable event whose object has no readable name. If it was damaged on the way, it
// can be read when it is asked for once more. The second time, only a list can tell what a deletion was of.
func (w *liveWatch[T]) kindOfUnnamed(bad *listwatch.ObjectError) errorKind {
	r := w.r
	canAskAgain := !isAny(r.version) && !w.versionsMayFall
	if canAskAgain && r.rereadFrom != r.version {
		return kindUnnamed
	}
	if bad.Type == listwatch.Deleted || bad.Type == 0 { // 0 is an unknown type
		return kindLostDeletion
	}
	return kindObject
}

// deleteKey tells the sink of a deletion whose object cannot be read. So the deletion's version is taken over.
func (w *liveWatch[T]) deleteKey(ctx context.Context, bad *listwatch.ObjectError) {
	r := w.r
	seen := observation{Kind: "DeleteKey", Key: bad.Key, FinalStateUnknown: true}
	r.tell(ctx, seen, func() error { return r.sink.DeleteKey(bad.Key) })
	w.advance(bad.Type, bad.ResourceVersion)
	r.update(func() { r.version = w.newest })
}

// failed decides what follows an error that ended the watch.
func (w *liveWatch[T]) failed(ctx context.Context, err error) *state[T] {
	kind, short := kindOf(err), w.isVeryShort()
	if !short {
		w.r.outages = 0
	}
	if short && (kind == kindEnded || kind == kindBroken) {
		// Perhaps the server cannot serve watches from this resourceVersion; a list may get past that.
		kind = kindShort
		err = fmt.Errorf("%w (%v)", ErrVeryShortWatch, err)
	}
	if kind == kindEnded || kind == kindOverdue {
		w.r.log(ctx, 4, "Watch close", "totalItems", w.events)
	}
	return w.r.follow(ctx, kind, w.from, err)
}

// isVeryShort reports whether the watch has brought nothing and is younger than a second. Asking again at once might then
// go on for ever.
func (w *liveWatch[T]) isVeryShort() bool { return time.Now().Before(w.shortUntil) }

// count adds the watch to Stats once it has ended.
func (w *liveWatch[T]) count() {
	r, took := w.r, time.Since(w.began)
	r.update(func() {
		r.stats.EndedWatches++
		r.stats.WatchTime += took
		if w.isVeryShort() {
			r.stats.ShortWatches++
		}
	})
	if r.opts.OnWatch != nil {
		r.opts.OnWatch(w.passed, took)
	}
}
