package sharedinformer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/klog/v2"
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

// Syncer is what [WaitFor] waits for: an informer of either kind, a registration.
type Syncer interface {
	// Name says in logs what is waited for.
	Name() string
	// WaitForSync blocks until the work is done, or until it cannot be done any more or ctx ends. The error says what
	// has not synced, and why.
	WaitForSync(ctx context.Context) error
}

// errGivenUp is the cause that the others see once one of them has failed.
var errGivenUp = errors.New("given up, as another cannot sync any more")

// WaitFor blocks until all of them have synced. It returns at once when ctx ends, or when one of them has stopped and
// so cannot sync any more. The error then joins, in their order, what each that has not synced says. That includes the
// last errors of lists and watches.
//
// If what is not empty, it logs through the logger in ctx that it waits, who is done, and who is missing at the end.
func WaitFor(ctx context.Context, what string, syncers ...Syncer) error {
	logger := klog.FromContext(ctx)
	if what == "" {
		logger = klog.Logger{}
	}
	logger.Info("Waiting", "for", what)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make([]error, len(syncers))
	var wg sync.WaitGroup
	for i, s := range syncers {
		wg.Go(func() {
			errs[i] = s.WaitForSync(ctx)
			if errs[i] != nil {
				cancel(errGivenUp) // too late if ctx has ended
				return
			}
			logger.Info("Done waiting", "for", what, "instance", s.Name())
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	if err != nil {
		logger.Error(err, "Did not sync", "for", what) // the error names those that are missing
	}
	return err
}
