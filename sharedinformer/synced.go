package sharedinformer

import (
	"context"
	"fmt"
)

// lifecycle is what informers and registrations have in common: each syncs once, and ends once.
type lifecycle struct {
	who    string // for errors
	synced chan struct{}
	done   chan struct{}
	// whyDone says why done was closed. lastError returns the last error of lists and watches, nil if they work.
	whyDone, lastError func() error
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

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
