package reflector

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"glasswatch/listwatch"
)

// unorderedStream is a stream whose versions need not rise, because no API server sends them: the objects of a fake
// clientset keep the versions that a test gave them. A stream without the method is taken for a server's.
type unorderedStream interface {
	UnorderedVersions() bool
}

// openStream is a watch, and what must be known of it to judge its events and its end.
type openStream[T listwatch.Object] struct {
	listwatch.Stream[T]                          // nil until the server has answered
	batches             listwatch.BatchStream[T] // the same, if it is one and the sink takes batches
	room                []listwatch.Event[T]     // what nextEvents fills
	ctx                 context.Context          // ends with the reason why this side gave up
	cancel              context.CancelCauseFunc
	overdue             *time.Timer   // ends a watch whose server lets the timeout pass
	deadline            time.Time     // when overdue fires
	silence             *silenceTimer // nil outside a streaming list
	opened              time.Time
	watchStart          time.Time // when it became a watch; zero before
	events              int       // objects that it passed on as a watch

	// from is the version before the first event that is a change. No event is as old or older, unless the server was
	// set back.
	from string
	// at is the version of the newest event.
	at string
	// inOrder: the synthetic first events, which are in no order, are through. Only then versions are taken over.
	inOrder bool
	// unordered: versions are not compared; the last one counts.
	unordered bool
	// useful: the stream brought what a stream from the same version would not bring again.
	useful bool
}

// openWatch sends a watch request and makes the stream r.stream, which must be nil. silence is the longest time
// to wait for an event; 0 for any. On an error there is no stream.
func (r *Reflector[T]) openWatch(ctx context.Context, opts metav1.ListOptions, silence time.Duration) error {
	timeout := r.opts.watchTimeout()
	seconds := int64(timeout / time.Second)
	opts.TimeoutSeconds = &seconds
	opts.AllowWatchBookmarks = true

	// Some proxies hold back the answer until there is an event, so the clocks start before the request.
	s := &openStream[T]{opened: time.Now(), from: opts.ResourceVersion, at: opts.ResourceVersion}
	s.inOrder = opts.ResourceVersion != "" && opts.ResourceVersion != "0"
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.deadline = s.opened.Add(timeout + watchGrace)
	s.overdue = time.AfterFunc(timeout+watchGrace, func() { s.cancel(errOverdue) })
	r.stream = s
	if silence > 0 {
		s.silence = newSilenceTimer(silence, func() { s.cancel(ErrSilent) })
		s.silence.start()
		defer s.silence.pause()
	}

	stream, err := r.lw.Watch(s.ctx, opts)
	if err != nil {
		err = s.explain(err)
		r.closeStream()
		return err
	}
	s.Stream = stream
	if r.batches != nil { // a sink that is called for each event would hold up the version for long
		s.batches, _ = stream.(listwatch.BatchStream[T])
	}
	if u, ok := stream.(unorderedStream); ok {
		s.unordered = u.UnorderedVersions()
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

// closeStream ends the stream, if there is one.
func (r *Reflector[T]) closeStream() {
	s := r.stream
	if s == nil {
		return
	}
	r.stream = nil
	if !s.watchStart.IsZero() {
		r.watchDone(s)
	}
	s.overdue.Stop()
	s.cancel(nil)
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
	return s.inOrder && !s.unordered && ev.Type != listwatch.Deleted && isOlder(ev.ResourceVersion, s.from)
}

// isOld: resuming at version would play history again.
func (s *openStream[T]) isOld(version string) bool { return !s.unordered && isOlder(version, s.at) }

// isOlder is false if a and b cannot be compared.
func isOlder(a, b string) bool {
	if a == b || a == "" || b == "" || b == "0" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// silenceTimer measures how long the server has been waited for since the last event. It runs only from start to
// pause, so the time that a sink or an observer takes does not count.
type silenceTimer struct {
	limit, left time.Duration
	since       time.Time // of the last start
	timer       *time.Timer
}

func newSilenceTimer(limit time.Duration, expired func()) *silenceTimer {
	t := &silenceTimer{limit: limit, left: limit, timer: time.AfterFunc(limit, expired)}
	t.timer.Stop()
	return t
}

func (t *silenceTimer) start() {
	t.since = time.Now()
	t.timer.Reset(t.left)
}

func (t *silenceTimer) pause() {
	t.timer.Stop()
	t.left -= time.Since(t.since)
}

// restart gives the server the whole time again.
func (t *silenceTimer) restart() { t.left = t.limit }
