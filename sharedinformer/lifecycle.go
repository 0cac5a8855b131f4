package sharedinformer

import (
	"context"
	"fmt"
	"time"
)

// crashPause is how long user code that panicked is left alone, if a panic does not end the process.
const crashPause = time.Second

// lifecycle is what controllers, informers and registrations have in common: each syncs once, and ends once.
type lifecycle struct {
	who    string // for errors
	synced <-chan struct{}
	done   chan struct{}
	// whyDone says why done was closed. lastError returns the last error of lists and watches, nil if they work.
	whyDone, lastError func() error
}

func (l *lifecycle) hasSynced() bool { return isClosed(l.synced) }

// waitForSync blocks until synced is closed. If ctx ends or done is closed first, it returns an error that wraps the
// cause and the last error of lists and watches.
func (l *lifecycle) waitForSync(ctx context.Context) error {
	select {
	case <-l.synced:
	case <-l.done:
	case <-ctx.Done():
	}
	if l.hasSynced() {
		return nil
	}
	cause := context.Cause(ctx)
	if isClosed(l.done) {
		cause = l.whyDone()
	}
	return withLastError(fmt.Errorf("%s has not synced: %w", l.who, cause), l.lastError())
}

// withLastError adds the last error of lists and watches to err, if there is one.
func withLastError(err, last error) error {
	if last == nil {
		return err
	}
	return fmt.Errorf("%w: last error: %w", err, last)
}

func errStopped() error { return ErrStopped }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// pauseAfterCrash blocks for crashPause, or until stop is closed.
func pauseAfterCrash(stop <-chan struct{}) {
	select {
	case <-time.After(crashPause):
	case <-stop:
	}
}
