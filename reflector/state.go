package reflector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/observe"
)

// State is what a reflector is doing. The picture in the package comment shows how one leads to the next. The table in
// errors.go says what follows an error.
type State uint8

const (
	// Idle is before Run. Run leaves it for ListingStreaming, or for ListingPaged if streaming lists are switched
	// off, or for Connecting if [Options.ResumeFrom] is set.
	Idle State = iota
	// ListingStreaming receives the initial events of a streaming list, one a step. It is left for Watching when a
	// bookmark announces their end.
	ListingStreaming
	// ListingPaged fetches a list, page by page. It is left for Connecting when the sink has the list.
	ListingPaged
	// Connecting asks for a watch from the last resourceVersion on. It is left for Watching when the server answers. It
	// asks again, and reports nothing, after 2·[Options.MinWatchTimeout] + 30 s without an answer: by default 10.5 min.
	Connecting
	// Watching gives the sink, in each step, the events that have come. It is left for Connecting when the stream ends.
	Watching
	// BackingOff waits after an error. It is left for a listing state or for Connecting when the time is up.
	BackingOff
	// Stopped is after Run. Every state is left for it once the context is cancelled. A later Run leaves it for a
	// listing state.
	Stopped
)

var stateNames = [...]string{
	"Idle", "ListingStreaming", "ListingPaged", "Connecting", "Watching", "BackingOff", "Stopped",
}

// String returns the constant's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// state is what the reflector does at one time. It is made anew each time that the reflector comes to it, and what it
// needs is in its step.
type state[T listwatch.Object] struct {
	name State
	// step blocks for one request, one event or one wait, and returns the next state, which often is the same. It ends
	// soon after ctx is cancelled.
	step func(ctx context.Context) *state[T]
	// stream is open, or nil. It is closed when the state is left for one without it.
	stream *stream[T]
}

func stopped[T listwatch.Object]() *state[T] { return &state[T]{name: Stopped} }

// backingOff is BackingOff: it waits, and goes on to next.
func backingOff[T listwatch.Object](wait time.Duration, next *state[T]) *state[T] {
	return &state[T]{name: BackingOff, step: func(ctx context.Context) *state[T] {
		select {
		case <-ctx.Done():
			return stopped[T]()
		case <-time.After(wait):
			return next
		}
	}}
}

// stream is a watch request that the server has answered, and the deadline at which this side ends it.
type stream[T listwatch.Object] struct {
	source  listwatch.Stream[T]
	batches listwatch.BatchStream[T] // source, if it has batches; else nil
	room    []listwatch.Event[T]     // what nextEvents fills: of one, unless the sink takes batches
	opened  time.Time                // when it was asked for

	ctx      context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer // cancels ctx with errOverdue at deadline
	deadline time.Time
	onClose  func() // nil once it was called, and before there is a watch
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
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	// Some proxies hold back the answer until there is an event, so the timer starts before the request.
	s.timer = time.AfterFunc(deadline, func() { s.cancel(errOverdue) })
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

// setDeadline makes this side end the stream after left, unless it is called again before.
func (s *stream[T]) setDeadline(left time.Duration) {
	s.deadline = time.Now().Add(left)
	s.timer.Reset(left)
}

// close ends the stream, if there is one. A second time it does nothing.
func (s *stream[T]) close() {
	if s == nil {
		return
	}
	s.timer.Stop()
	s.cancel(nil)
	_ = s.source.Close() // whatever is wrong with it, it is of no use any more
	onClose := s.onClose
	s.onClose = nil // before the call, which may panic
	if onClose != nil {
		onClose()
	}
}
