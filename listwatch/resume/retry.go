package resume

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// minRestartInterval is the least time between the starts of two watches.
const minRestartInterval = time.Second

// RetryStream is a watch that does not end when the connection does: it resumes at the last resourceVersion it
// delivered, so that every event after the first resourceVersion comes once and in order.
//
// It restarts at most once a second, or after the delay the server asks for. What no restart can mend is
// returned by Next and ends the stream: 410 (the resourceVersion is too old: list again), 401, 403, [ErrFrameTooLarge],
// Close, and the end of the context. Every other failure is retried for ever and seen by OnRetry only.
type RetryStream[T listwatch.Object] struct {
	lw      listwatch.ListerWatcher[T]
	opts    metav1.ListOptions
	options RetryOptions

	ctx    context.Context
	cancel context.CancelCauseFunc

	// The fields from here on are those of the goroutine that calls Next.
	bookmarks bool // whether the caller asked for them; the stream always does
	started   time.Time
	notBefore time.Time
	err       error

	mu      sync.Mutex          // protects current
	current listwatch.Stream[T] // nil between two watches
}

// RetryOptions are optional.
type RetryOptions struct {
	// OnRetry is told why a watch ended before the next one is tried; err is io.EOF for a clean end. It is called in the
	// goroutine that calls Next and delays it. Nil: nobody is told.
	OnRetry func(err error)
}

// NewRetryStream returns a stream of what happens after opts.ResourceVersion, which must be that of a list or an event:
// from "" and "0", as with SendInitialEvents, a restart would deliver everything again. It connects at the first Next. Close it, or cancel ctx.
func NewRetryStream[T listwatch.Object](ctx context.Context, lw listwatch.ListerWatcher[T], opts metav1.ListOptions, options RetryOptions) (*RetryStream[T], error) {
	if opts.ResourceVersion == "" || opts.ResourceVersion == "0" {
		return nil, fmt.Errorf("resume: a retry stream cannot resume from resourceVersion %q", opts.ResourceVersion)
	}
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		return nil, errors.New("resume: a retry stream cannot resume within initial events, which are in no order")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s := &RetryStream[T]{lw: lw, opts: opts, options: options, ctx: ctx, cancel: cancel, bookmarks: opts.AllowWatchBookmarks}
	s.opts.AllowWatchBookmarks = true // they keep the place to resume at fresh while nothing happens
	return s, nil
}

// Close implements Stream.
func (s *RetryStream[T]) Close() error {
	s.cancel(listwatch.ErrClosed)
	s.mu.Lock()
	current := s.current
	s.current = nil
	s.mu.Unlock()
	if current != nil {
		_ = current.Close()
	}
	return nil
}

// ResourceVersion is where the next watch would resume. It may be called by the goroutine that calls Next.
func (s *RetryStream[T]) ResourceVersion() string { return s.opts.ResourceVersion }

// Next implements Stream. It blocks through as many restarts as it takes.
func (s *RetryStream[T]) Next() (listwatch.Event[T], error) {
	for s.err == nil {
		current, err := s.connected()
		if err == nil {
			var ev listwatch.Event[T]
			if ev, err = current.Next(); err == nil {
				s.advance(ev.ResourceVersion)
				if ev.Type == listwatch.Bookmark && !s.bookmarks {
					continue
				}
				return ev, nil
			}
		}
		if bad, ok := errors.AsType[*listwatch.ObjectError](err); ok && current != nil {
			s.advance(bad.ResourceVersion)
			return listwatch.Event[T]{}, err
		}
		s.lost(err)
	}
	return listwatch.Event[T]{}, s.err
}

func (s *RetryStream[T]) advance(resourceVersion string) {
	if resourceVersion != "" {
		s.opts.ResourceVersion = resourceVersion
	}
}

// connected returns the running watch, or starts one when its time has come.
func (s *RetryStream[T]) connected() (listwatch.Stream[T], error) {
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	if current != nil {
		return current, nil
	}
	if err := s.wait(); err != nil {
		return nil, err
	}
	s.started = time.Now()
	current, err := s.lw.Watch(s.ctx, s.opts)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	closed := context.Cause(s.ctx)
	if closed == nil {
		s.current = current
	}
	s.mu.Unlock()
	if closed != nil { // Close came before there was something to close
		_ = current.Close()
		return nil, closed
	}
	return current, nil
}

func (s *RetryStream[T]) wait() error {
	if err := context.Cause(s.ctx); err != nil {
		return err
	}
	delay := time.Until(s.notBefore)
	if delay <= 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// lost puts a watch away that failed or never began, and decides whether there will be another.
func (s *RetryStream[T]) lost(err error) {
	s.mu.Lock()
	current := s.current
	s.current = nil
	s.mu.Unlock()
	if current != nil {
		_ = current.Close()
	}
	switch cause := context.Cause(s.ctx); {
	case cause != nil:
		s.err = cause
	case isExpired(err), apierrors.IsUnauthorized(err), apierrors.IsForbidden(err), errors.Is(err, listwatch.ErrFrameTooLarge):
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
	if s.options.OnRetry != nil {
		s.options.OnRetry(err)
	}
}

// isExpired: servers and proxies say 410 in two ways.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
