package reflector

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"glasswatch/listwatch"
)

// openStream is a watch, and what must be known of it to judge its events and its end.
type openStream[T listwatch.Object] struct {
	listwatch.Stream[T]                          // nil until the server has answered
	batches             listwatch.BatchStream[T] // the same, if it is one and the sink takes batches
	room                []listwatch.Event[T]     // what nextEvents fills
	ctx                 context.Context
	cancel              context.CancelCauseFunc
	overdue, silence    *watchdog // silence is nil outside a streaming list
	opened              time.Time
	watchStart          time.Time // when it became a watch; zero before
	events              int       // objects that it passed on as a watch

	// from is the version before the first event that is a change. No event is as old or older, unless the server was set
	// back.
	from string
	// at is the version of the newest event.
	at string
	// above: a version that is a greater number is newer than both at and from. 0 if at is no number, or from is newer.
	above uint64
	// inOrder: the synthetic first events, which are in no order, are through. Only then versions are taken over.
	inOrder bool
	// useful: the stream brought what a stream from the same version would not bring again.
	useful bool
}

// openWatch sends a watch request and makes the stream r.run.stream, which must be nil. silence is the longest time
// without an event; 0 for any. On an error there is no stream.
func (r *Reflector[T]) openWatch(ctx context.Context, opts metav1.ListOptions, silence time.Duration) error {
	timeout := r.opts.watchTimeout()
	seconds := int64(timeout / time.Second)
	opts.TimeoutSeconds = &seconds
	opts.AllowWatchBookmarks = true

	// Some proxies hold back the answer until there is an event, so the clocks start before the request.
	s := &openStream[T]{opened: time.Now(), from: opts.ResourceVersion, at: opts.ResourceVersion}
	s.inOrder = opts.ResourceVersion != "" && opts.ResourceVersion != "0"
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.overdue = newWatchdog(timeout+watchGrace, func() { s.cancel(errOverdue) })
	if silence > 0 {
		s.silence = newWatchdog(silence, func() { s.cancel(ErrSilent) })
	}
	r.run.stream = s

	stream, err := r.lw.Watch(s.ctx, opts)
	if err != nil {
		err = s.explain(err)
		r.closeStream()
		return err
	}
	s.Stream = stream
	if r.batches != nil { // else the sink would take long for all of them
		s.batches, _ = stream.(listwatch.BatchStream[T])
	}
	s.room = make([]listwatch.Event[T], 1)
	return nil
}

// maxBatch is the most events that are taken from a stream at once.
const maxBatch = 512

// nextEvents returns the events that are there, one at least, or an error. The slice may be used until the next call.
func (s *openStream[T]) nextEvents() (events []listwatch.Event[T], err error) {
	if s.batches == nil {
		s.room[0], err = s.Next()
		return s.room, err
	}
	n, err := s.batches.NextBatch(s.room)
	events = s.room[:n]
	if n == len(s.room) && n < maxBatch {
		s.room = make([]listwatch.Event[T], 2*n)
	}
	return events, err
}

// explain returns why this side cancelled the stream, if it did, else err.
func (s *openStream[T]) explain(err error) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return err
}

// closeStream ends the stream, if there is one, and returns when its watchdogs are gone.
func (r *Reflector[T]) closeStream() {
	s := r.run.stream
	if s == nil {
		return
	}
	r.run.stream = nil
	if !s.watchStart.IsZero() {
		r.watchDone(s)
	}
	s.cancel(nil)
	s.silence.stop()
	s.overdue.stop()
	if s.Stream != nil {
		_ = s.Close() // whatever is wrong with it, it is of no use any more
	}
}

// isVeryShort: the stream brought nothing in less than a second; asking again at once might go on for ever.
func (s *openStream[T]) isVeryShort() bool {
	return !s.useful && time.Since(s.opened) < time.Second
}

// isRewound: ev is older than where the stream started. A deletion does not count: there are servers that send it with
// the version of the object that was deleted.
func (s *openStream[T]) isRewound(ev *listwatch.Event[T]) bool {
	return s.inOrder && ev.Type != listwatch.Deleted && isOlder(ev.ResourceVersion, s.from)
}

// ahead returns version as a number if it is certainly newer than both at and from, as nearly every event's is. It is there
// for speed: 0 says nothing, and isOlder must be asked.
func (s *openStream[T]) ahead(version string) uint64 {
	if n := number(version); s.above != 0 && n > s.above {
		return n
	}
	return 0
}

// number is the version as one, if it can be compared as such with others; else 0.
func number(version string) uint64 {
	const mostDigits = 19 // fit for certain
	if version == "" || version[0] == '0' || len(version) > mostDigits {
		return 0
	}
	n := uint64(0)
	for i := range len(version) {
		digit := version[i] - '0'
		if digit > 9 {
			return 0
		}
		n = n*10 + uint64(digit)
	}
	return n
}

// isOlder is false if a and b cannot be compared.
func isOlder(a, b string) bool {
	if a == b || a == "" || b == "" || b == "0" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
