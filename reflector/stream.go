package reflector

import (
	"context"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/observe"
)

// stream is a watch request that the server has answered. It belongs to a state.
type stream[T listwatch.Object] struct {
	source  listwatch.Stream[T]
	batches listwatch.BatchStream[T] // source, if it has batches; else nil
	room    []listwatch.Event[T]     // what nextEvents fills: one event, until a watch makes it larger
	opened  time.Time                // when it was asked for
	events  int                      // how many came in the present state, bookmarks among them
	useful  bool                     // It has brought a list, or a newer version.
	onClose func()                   // what a watch does when it ends; nil in a streaming list

	ctx      context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer // cancels ctx with errOverdue at deadline
	deadline time.Time   // zero: none
}

// openStream sends a watch request and waits for the answer. After left this side ends it, answered or not.
func (r *Reflector[T]) openStream(ctx context.Context, opts metav1.ListOptions, left time.Duration) (*stream[T], error) {
	// Random timeouts keep informers that started together from reconnecting together for ever.
	timeout := r.opts.MinWatchTimeout + rand.N(r.opts.MinWatchTimeout)
	opts.TimeoutSeconds = new(max(int64(timeout/time.Second), 1))
	opts.AllowWatchBookmarks = true

	now := time.Now()
	s := &stream[T]{room: make([]listwatch.Event[T], 1), opened: now, deadline: now.Add(left)}
	ctx, cancel := context.WithCancelCause(ctx)
	s.ctx, s.cancel = ctx, cancel
	// The timer starts before the request, because some proxies hold back the answer until there is an event. Its
	// function refers to nothing that holds objects, because the runtime may keep a stopped timer for a while.
	s.timer = time.AfterFunc(left, func() { cancel(errOverdue) })
	source, err := r.lw.Watch(s.ctx, opts)
	if err != nil {
		if context.Cause(s.ctx) == errOverdue {
			err = errUnanswered
		}
		s.timer.Stop()
		s.cancel(nil)
		return nil, err
	}
	s.source = source
	s.batches, _ = source.(listwatch.BatchStream[T])
	return s, nil
}

// nextEvents waits for events, and returns as many as have room, or an error. There may be none, if what came was of
// other shards. The next call overwrites the slice.
func (r *Reflector[T]) nextEvents(s *stream[T]) ([]listwatch.Event[T], error) {
	n := 1
	var err error
	if s.batches != nil {
		n, err = s.batches.NextBatch(s.room)
	} else {
		s.room[0], err = s.source.Next()
	}
	if err != nil && s.ctx.Err() != nil {
		err = context.Cause(s.ctx) // Whatever the stream says, it ended because this side gave it up.
	}
	if err != nil {
		return nil, err
	}
	s.events += n
	r.observeEvents(observe.Decoded, s.room[:n])
	return s.room[:n], nil
}

// isChange: an event of this type has an object.
func isChange(typ listwatch.EventType) bool {
	return listwatch.Added <= typ && typ <= listwatch.Deleted
}

// setDeadline makes this side end the stream after left, and no longer when it was to before.
func (s *stream[T]) setDeadline(left time.Duration) {
	s.deadline = time.Now().Add(left)
	s.timer.Reset(left)
}

// removeDeadline lets the stream go on for as long as its source likes.
func (s *stream[T]) removeDeadline() {
	s.deadline = time.Time{}
	s.timer.Stop()
}

// isVeryShort reports whether the stream has brought nothing and is younger than a second.
func (s *stream[T]) isVeryShort() bool { return !s.useful && time.Since(s.opened) < time.Second }

// close ends the stream, if there is one. A second call does nothing.
func (s *stream[T]) close() {
	if s == nil {
		return
	}
	s.timer.Stop()
	s.cancel(nil)
	_ = s.source.Close() // whatever is wrong with it, it is of no use any more
	if onClose := s.onClose; onClose != nil {
		s.onClose = nil
		onClose()
	}
}
