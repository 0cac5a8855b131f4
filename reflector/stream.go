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
	room    []listwatch.Event[T]     // what nextEvents fills
	maxRoom int                      // how far it may grow; 0 if the sink takes no batches, and in a streaming list
	opened  time.Time                // when it was asked for
	onClose func()                   // of the watch that this is; nil in a streaming list

	ctx      context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer // cancels ctx with errOverdue at deadline
	deadline time.Time
}

// openStream sends a watch request and waits for the answer. The deadline is for the answer as well.
func (r *Reflector[T]) openStream(
	ctx context.Context, opts metav1.ListOptions, deadline time.Duration,
) (*stream[T], error) {
	// Random timeouts keep informers that started together from reconnecting together for ever.
	timeout := r.opts.MinWatchTimeout + rand.N(r.opts.MinWatchTimeout)
	opts.TimeoutSeconds = new(max(int64(timeout/time.Second), 1))
	opts.AllowWatchBookmarks = true

	now := time.Now()
	s := &stream[T]{room: make([]listwatch.Event[T], 1), opened: now, deadline: now.Add(deadline)}
	ctx, cancel := context.WithCancelCause(ctx)
	s.ctx, s.cancel = ctx, cancel
	// Some proxies hold back the answer until there is an event, so the timer starts before the request. The runtime may
	// keep a stopped timer for a while, so its function refers to nothing that holds objects.
	s.timer = time.AfterFunc(deadline, func() { cancel(errOverdue) })
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

// nextEvents returns the events that are there and have room, or an error. There may be none if objects of other shards
// came. The slice may be used until the next call.
func (r *Reflector[T]) nextEvents(s *stream[T]) ([]listwatch.Event[T], error) {
	n := 1
	var err error
	if s.batches != nil {
		n, err = s.batches.NextBatch(s.room)
	} else {
		s.room[0], err = s.source.Next()
	}
	if err != nil && s.ctx.Err() != nil {
		err = context.Cause(s.ctx) // this side gave up before
	}
	if err != nil {
		return nil, err
	}
	r.observeEvents(observe.Decoded, s.room[:n])
	return s.room[:n], nil
}

// release lets go of the objects of the last batch, and doubles the room that it filled.
func (s *stream[T]) release(batch []listwatch.Event[T]) {
	clear(batch)
	if len(batch) == len(s.room) && len(s.room) < s.maxRoom {
		s.room = make([]listwatch.Event[T], 2*len(s.room))
	}
}

// setDeadline makes this side end the stream after left, unless it is called again before.
func (s *stream[T]) setDeadline(left time.Duration) {
	s.deadline = time.Now().Add(left)
	s.timer.Reset(left)
}

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
