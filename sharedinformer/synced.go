package sharedinformer

import (
	"context"
	"fmt"
	"sync"
)

// lifecycle is what informers and registrations have in common: each syncs once, and ends once.
type lifecycle struct {
	who    string // for errors
	synced chan struct{}
	done   chan struct{}
	// whyDone says why done is closed. It is set before.
	whyDone error

	mu        sync.Mutex
	lastError func() error // of lists and watches, nil if they work; protected by mu
}

// waitForSync blocks until synced is closed. If ctx ends or done is closed first, it returns an error that wraps the
// cause and the last error of lists and watches.
func (l *lifecycle) waitForSync(ctx context.Context) error {
	select {
	case <-l.synced:
	case <-l.done:
	case <-ctx.Done():
	}
	if isClosed(l.synced) {
		return nil
	}
	cause := context.Cause(ctx)
	if isClosed(l.done) {
		cause = l.whyDone
	}
	return withLastError(fmt.Errorf("%s has not synced: %w", l.who, cause), l.lastWatchError())
}

func (l *lifecycle) lastWatchError() error {
	l.mu.Lock()
	lastError := l.lastError
	l.mu.Unlock()
	return lastError()
}

// keepLastError asks for the last error a last time, and keeps it: a registration must not keep an informer in memory
// that has stopped.
func (l *lifecycle) keepLastError() {
	last := l.lastWatchError()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastError = func() error { return last }
}

// withLastError adds the last error of lists and watches to err, if there is one.
func withLastError(err, last error) error {
	if last == nil {
		return err
	}
	return fmt.Errorf("%w: last error: %w", err, last)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
