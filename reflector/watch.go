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
	return r.watching(s, false)
}

// liveWatch is what Watching needs. An example of a watch from 5, if the sink takes batches:
//
//	            ┌───────── one batch ─────────┐
//	event       Added 6  Modified 8  Bookmark 9            Modified 7  Added 4
//	verdict     inOrder  inOrder     inOrder               old         rewound: ErrRewound
//	newest    5 6        8           9                     9           9
//	sink        -        -           Add, Update; Bookmark Update      -
//	r.version 5 5        5           9                     9           9
//
// Invariant: r.version is newest, between two steps. Within a step it follows once the sink has the events.
type liveWatch[T listwatch.Object] struct {
	r         *Reflector[T]
	stream    *stream[T]
	from      string // the version that the watch began at
	newest    string // the newest version of an event
	unordered bool   // Versions may fall. They are not compared: the last one is the newest.
	useful    bool   // It has brought a newer version, or a list. So it is not very short.
	began     time.Time
	events    int // how many came, bookmarks among them
	passed    int // how many objects the sink was given
}

// watching is a watch that begins on s, at the version that the sink has. afterList: s has brought the list.
func (r *Reflector[T]) watching(s *stream[T], afterList bool) *state[T] {
	w := &liveWatch[T]{r: r, stream: s, from: r.version, newest: r.version, useful: afterList, began: time.Now()}
	// A fake clientset has no server that gives versions: its objects keep those that a test gave them, in any order.
	if u, ok := s.source.(interface{ UnorderedVersions() bool }); ok {
		w.unordered = u.UnorderedVersions()
	}
	s.onClose = w.count
	return &state[T]{name: Watching, step: w.step, stream: s}
}

// step gives the sink the events that are there: changes in a row in one call.
func (w *liveWatch[T]) step(ctx context.Context) *state[T] {
	events, err := w.r.nextEvents(w.stream)
	if err != nil {
		return w.failed(ctx, err)
	}
	w.events += len(events)
	pending := events[:0] // changes that the sink is not given yet
	for _, ev := range events {
		if !isChange(ev.Type) && ev.Type != listwatch.Bookmark {
			continue // A Stream may give no other type.
		}
		verdict := w.advance(ev.Type, ev.ResourceVersion)
		switch {
		case verdict == rewound:
			w.handOver(ctx, pending)
			return w.failed(ctx, ErrRewound)
		case ev.Type != listwatch.Bookmark:
			pending = append(pending, ev)
		case verdict == inOrder: // an old bookmark is dropped
			w.handOver(ctx, pending)
			pending = pending[:0]
			w.bookmark(ctx, ev.ResourceVersion)
		}
	}
	w.handOver(ctx, pending)
	w.release(events)
	return w.r.current
}

// isChange: the event has an object.
func isChange(typ listwatch.EventType) bool {
	return listwatch.Added <= typ && typ <= listwatch.Deleted
}

func (w *liveWatch[T]) isOlder(version, than string) bool {
	return !w.unordered && rv.IsOlder(version, than)
}

// verdict is how the version of an event compares with those before.
type verdict int

const (
	inOrder verdict = iota // It is not older, or cannot be compared.
	old                    // It is older than the newest one. The sink is given a change all the same, but no bookmark.
	rewound                // It is older than the one that the watch began at: the server was set back.
)

// advance moves the watch on to the version of an event, if that is progress, and returns the verdict on it.
func (w *liveWatch[T]) advance(typ listwatch.EventType, version string) verdict {
	// Some servers send a deletion with the version of the object that was deleted.
	if typ != listwatch.Deleted && w.isOlder(version, w.from) {
		return rewound
	}
	if w.isOlder(version, w.newest) || (typ == listwatch.Bookmark && version == noVersion) {
		w.r.update(func() { w.r.stats.OldVersions++ })
		return old
	}
	// A watch from any version starts with an Added for each object that is there, in no order. The first other event
	// with a version ends these.
	initial := typ == listwatch.Added && !isKnown(w.newest)
	if version != noVersion && version != w.newest && !initial {
		w.newest = version
		w.useful = true
	}
	return inOrder
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
	w.passed += len(events)
	r.update(func() { r.stats.Events += uint64(len(events)) })
	w.commit()
}

// bookmark tells the sink of a bookmark.
func (w *liveWatch[T]) bookmark(ctx context.Context, version string) {
	r := w.r
	r.tell(ctx, observation{Kind: "Bookmark", Version: version}, func() error { return r.sink.Bookmark(version) })
	r.update(func() { r.stats.Bookmarks++ })
	w.commit()
}

// maxBatch bounds a batch, so that the version is never behind for long.
const maxBatch = 512

// release lets go of the objects of a batch. If that filled its room, the next one has twice as much.
func (w *liveWatch[T]) release(batch []listwatch.Event[T]) {
	clear(batch)
	room := len(w.stream.room)
	if w.r.batches != nil && len(batch) == room && room < maxBatch {
		w.stream.room = make([]listwatch.Event[T], 2*room)
	}
}

// failed decides what follows an error.
func (w *liveWatch[T]) failed(ctx context.Context, err error) *state[T] {
	if !w.isVeryShort() { // Watches work.
		w.r.outages = 0
	}
	kind := w.kindOf(err)
	switch kind {
	case kindUnnamed:
		w.r.rereadFrom = w.r.version
	case kindShort:
		err = fmt.Errorf("%w (%v)", ErrVeryShortWatch, err)
	case kindEnded, kindOverdue:
		w.r.log(ctx, 4, "Watch close", "totalItems", w.events)
	}
	next := w.r.follow(ctx, kind, w.from, err)
	bad, unreadable := errors.AsType[*listwatch.ObjectError](err)
	if unreadable && bad.Type == listwatch.Deleted && bad.Key != (listwatch.Key{}) {
		w.deleteKey(ctx, bad)
	}
	return next
}

// kindOf finds the kind of an error of this watch, also those that do not show in the error alone.
func (w *liveWatch[T]) kindOf(err error) errorKind {
	kind := kindOf(err)
	bad, _ := errors.AsType[*listwatch.ObjectError](err)
	canAskAgain := isKnown(w.r.version) && w.r.version != w.r.rereadFrom && !w.unordered
	switch {
	case (kind == kindEnded || kind == kindBroken) && w.isVeryShort():
		// Perhaps the server cannot serve watches from this resourceVersion. A list may get past that.
		return kindShort
	case kind != kindObject || bad.Key != (listwatch.Key{}):
		return kind
	case canAskAgain: // The event may have been damaged on the way.
		return kindUnnamed
	case bad.Type == listwatch.Deleted || bad.Type == 0: // 0 is an unknown type. Only a list can tell what is gone.
		return kindLostDeletion
	default:
		return kindObject
	}
}

// deleteKey tells the sink of a deletion whose object cannot be read. Other unreadable events do not move the version.
func (w *liveWatch[T]) deleteKey(ctx context.Context, bad *listwatch.ObjectError) {
	r := w.r
	seen := observation{Kind: "DeleteKey", Key: bad.Key, FinalStateUnknown: true}
	r.tell(ctx, seen, func() error { return r.sink.DeleteKey(bad.Key) })
	w.advance(bad.Type, bad.ResourceVersion)
	w.commit()
}

// isVeryShort reports whether the watch has brought nothing and is younger than a second. Asking again at once might
// then go on for ever.
func (w *liveWatch[T]) isVeryShort() bool {
	return !w.useful && time.Since(w.stream.opened) < time.Second
}

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
