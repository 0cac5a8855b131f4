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
	listwatch.Stream[T] // nil until the server has answered
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
	// passed: at is a number, and whatever is above it is above from, too.
	passed bool
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
	return nil
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
	return s.inOrder && ev.Type != listwatch.Deleted && !s.isAbove(ev.ResourceVersion) && isOlder(ev.ResourceVersion, s.from)
}

// isAbove: version is certainly newer than both at and from, as nearly every event's is. It is there for speed: false says
// nothing, and isOlder must be asked.
func (s *openStream[T]) isAbove(version string) bool {
	if !s.passed || !isNumber(version) {
		return false
	}
	return len(version) > len(s.at) || len(version) == len(s.at) && version > s.at
}

// isNumber: version is one that can be compared with others.
func isNumber(version string) bool {
	if version == "" || version[0] == '0' {
		return false
	}
	for i := range len(version) {
		if version[i] < '0' || version[i] > '9' {
			return false
		}
	}
	return true
}

// isOlder is false if a and b cannot be compared.
func isOlder(a, b string) bool {
	if a == b || a == "" || b == "" || b == "0" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
