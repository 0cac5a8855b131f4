package reflector

import (
	"context"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// openStream is a watch, and what must be known of it to judge its events and its end.
type openStream[T listwatch.Object] struct {
	listwatch.Stream[T]                          // nil until the server has answered
	batches             listwatch.BatchStream[T] // the same, if it is one
	room                []listwatch.Event[T]     // what nextEvents fills
	ctx                 context.Context
	cancel              context.CancelCauseFunc
	timer               *time.Timer // cancels ctx with errDeadline at deadline
	deadline            time.Time
	opened              time.Time
	watchStart          time.Time // when it became a watch; zero before
	events              int       // objects that it passed on as a watch

	// initial is what a streaming list has brought so far.
	initial map[listwatch.Key]T
	// initialUpTo is the newest version of a Modified or Deleted among the initial events. Added ones are in no order.
	initialUpTo string

	// from is the version asked for, or that of the streaming list. An older event shows that the server was set back.
	from string
	// at is the version of the newest event.
	at string
	// pastInitial is false while a watch from "" or "0" may still bring synthetic events: an Added for each object that
	// is there, in any order. Their versions are not taken over.
	pastInitial bool
	// versionsMayFall: they are not compared; the last one counts.
	versionsMayFall bool
	// useful: at has advanced, or the streaming list is complete. Then the watch never counts as very short.
	useful bool
}

// openWatch sends a watch request. It makes the stream r.stream, which must be nil, and sets its first deadline.
func (r *Reflector[T]) openWatch(ctx context.Context, opts metav1.ListOptions, deadline time.Duration) error {
	// Random timeouts keep informers that started together from reconnecting together for ever.
	timeout := r.opts.MinWatchTimeout + rand.N(r.opts.MinWatchTimeout)
	opts.TimeoutSeconds = new(max(int64(timeout/time.Second), 1))
	opts.AllowWatchBookmarks = true

	s := &openStream[T]{
		room: make([]listwatch.Event[T], 1), opened: time.Now(),
		initial: map[listwatch.Key]T{}, from: opts.ResourceVersion, at: opts.ResourceVersion,
		pastInitial: opts.ResourceVersion != "" && opts.ResourceVersion != "0",
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	// Some proxies hold back the answer until there is an event, so the timer starts before the request.
	s.timer = time.AfterFunc(deadline, func() { s.cancel(errDeadline) })
	s.setDeadline(deadline)
	r.stream = s
	stream, err := r.lw.Watch(s.ctx, opts)
	if err != nil {
		return err
	}
	s.Stream = stream
	s.batches, _ = stream.(listwatch.BatchStream[T])
	// No API server sends the events of a fake clientset: its objects keep the versions that a test gave them.
	if u, ok := stream.(interface{ UnorderedVersions() bool }); ok {
		s.versionsMayFall = u.UnorderedVersions()
	}
	return nil
}

// nextEvents returns the events that are there and have room, or an error. There may be none if objects of other shards
// came. The slice may be used until the next call.
func (r *Reflector[T]) nextEvents() ([]listwatch.Event[T], error) {
	s, n := r.stream, 1
	var err error
	if s.batches != nil {
		n, err = s.batches.NextBatch(s.room)
	} else {
		s.room[0], err = s.Next()
	}
	if err != nil {
		return nil, err
	}
	events := s.room[:n]
	if r.opts.Observe != nil && n > 0 {
		r.observe(Observation{Boundary: EventsDecoded, Events: shown(events)})
	}
	return events, nil
}

// closeStream ends the stream, if there is one, after err. It returns the reason if this side gave up before, else err.
func (r *Reflector[T]) closeStream(err error) error {
	s := r.stream
	if s == nil {
		return err
	}
	r.stream = nil
	if !s.watchStart.IsZero() {
		took := time.Since(s.watchStart)
		r.update(func() {
			r.stats.EndedWatches++
			r.stats.WatchTime += took
			if s.isVeryShort() {
				r.stats.ShortWatches++
			}
		})
		if r.opts.OnWatch != nil {
			r.opts.OnWatch(s.events, took)
		}
	}
	if s.ctx.Err() != nil {
		err = context.Cause(s.ctx)
	}
	s.timer.Stop()
	s.cancel(nil)
	if s.Stream != nil {
		_ = s.Close() // whatever is wrong with it, it is of no use any more
	}
	return err
}

// isVeryShort: the stream brought nothing in less than a second; asking again at once might go on for ever.
func (s *openStream[T]) isVeryShort() bool {
	return !s.useful && time.Since(s.opened) < time.Second
}

// setDeadline makes this side end the stream after left, unless it is called again before.
func (s *openStream[T]) setDeadline(left time.Duration) {
	s.deadline = time.Now().Add(left)
	s.timer.Reset(left)
}
