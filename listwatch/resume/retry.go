package resume

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
)

// minRestartInterval is the least time between the starts of two watches.
const minRestartInterval = time.Second

// Stream is a watch that does not end when the connection does. It resumes at the newest resourceVersion that came, so
// every event after the first resourceVersion comes once and in order; doc.go has the exception.
//
// It restarts at most once a second, or after the delay the server asks for. Some errors are mended by no restart. Next
// returns them and the stream ends: 410 (the resourceVersion is too old: list again), 401, 403,
// [listwatch.ErrFrameTooLarge], Close, and the end of the context. Every other failure is retried for ever.
type Stream[T listwatch.Object] struct {
	lw      listwatch.ListerWatcher[T]
	opts    metav1.ListOptions // its ResourceVersion is the newest that came
	onRetry func(err error)

	ctx    context.Context // of all watches; its cause is ErrClosed after Close
	cancel context.CancelCauseFunc

	// The fields from here on are those of the goroutine that calls Next.
	bookmarks bool                // whether the caller asked for them; the stream always does
	current   listwatch.Stream[T] // nil between two watches
	forget    func() bool         // the end of ctx is no longer to close current; false if it does
	started   time.Time           // when current was asked for
	notBefore time.Time           // when the next watch may be asked for
	err       error               // why the stream has ended
}

// NewStream returns a stream of what happens after opts.ResourceVersion, which must be that of a list or an event. From
// "" and "0", as with SendInitialEvents, a restart would deliver everything again. It connects at the first Next. Close
// it, or cancel ctx.
//
// onRetry is told why a watch ended before the next one is tried; err is io.EOF for a clean end. It is called in the
// goroutine that calls Next and delays it. Nil: nobody is told.
func NewStream[T listwatch.Object](
	ctx context.Context, lw listwatch.ListerWatcher[T], opts metav1.ListOptions, onRetry func(err error),
) (*Stream[T], error) {
	if opts.ResourceVersion == "" || opts.ResourceVersion == "0" {
		return nil, fmt.Errorf("resume: a retry stream cannot resume from resourceVersion %q", opts.ResourceVersion)
	}
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		return nil, errors.New("resume: a retry stream cannot resume within initial events, which are in no order")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Stream[T]{lw: lw, opts: opts, onRetry: onRetry, ctx: ctx, cancel: cancel}
	s.bookmarks = opts.AllowWatchBookmarks
	s.opts.AllowWatchBookmarks = true // they keep the place to resume at fresh while nothing happens
	return s, nil
}

// Close implements listwatch.Stream. The end of ctx closes the current watch, too. Either way the watch below may be
// closed in a goroutine of its own, which Close does not wait for.
func (s *Stream[T]) Close() error {
	s.cancel(listwatch.ErrClosed)
	return nil
}

// Next implements listwatch.Stream. It blocks through as many restarts as it takes.
func (s *Stream[T]) Next() (listwatch.Event[T], error) {
	for s.err == nil {
		if err := s.connect(); err != nil {
			s.lost(err)
			continue
		}
		ev, err := s.current.Next()
		bad, costsOne := errors.AsType[*listwatch.ObjectError](err)
		switch {
		case costsOne:
			s.opts.ResourceVersion = later(s.opts.ResourceVersion, bad.ResourceVersion)
			return ev, err
		case err != nil:
			s.lost(err)
		default:
			s.opts.ResourceVersion = later(s.opts.ResourceVersion, ev.ResourceVersion)
			if ev.Type != listwatch.Bookmark || s.bookmarks {
				return ev, nil
			}
		}
	}
	return listwatch.Event[T]{}, s.err
}

// later returns the position after an event of that version. Some servers send a deletion with the version of the
// object that was deleted: resuming there would bring again what came since. So a server that was set back while the
// watch is open is not followed.
func later(position, version string) string {
	if version == "" || rv.IsOlder(version, position) {
		return position
	}
	return version
}

// connect starts a watch when its time has come, if there is none.
func (s *Stream[T]) connect() error {
	if err := context.Cause(s.ctx); err != nil || s.current != nil {
		return err
	}
	select {
	case <-time.After(time.Until(s.notBefore)):
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
	s.started = time.Now()
	current, err := s.lw.Watch(s.ctx, s.opts)
	if err != nil {
		return err
	}
	s.current = current
	s.forget = context.AfterFunc(s.ctx, func() { _ = current.Close() })
	return nil
}

// lost puts a watch away that failed or never began, and decides whether there will be another.
func (s *Stream[T]) lost(err error) {
	if s.current != nil {
		if s.forget() { // else it is being closed
			_ = s.current.Close()
		}
		s.current = nil
	}
	switch cause := context.Cause(s.ctx); {
	case cause != nil:
		s.err = cause
	case rv.IsExpired(err), apierrors.IsUnauthorized(err), apierrors.IsForbidden(err),
		errors.Is(err, listwatch.ErrFrameTooLarge):
		s.err = err
	}
	if s.err != nil {
		s.cancel(s.err)
		return
	}
	s.notBefore = s.started.Add(minRestartInterval)
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		if asked := time.Now().Add(time.Duration(seconds) * time.Second); asked.After(s.notBefore) {
			s.notBefore = asked
		}
	}
	if s.onRetry != nil {
		s.onRetry(err)
	}
}
