package sharedinformer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// Syncer is what [WaitFor] waits for: an informer of either kind, a controller, a registration.
type Syncer interface {
	// Name says in logs what is waited for.
	Name() string
	// WaitForSync blocks until the work is done, or until it cannot be done any more or ctx ends. The error says what
	// has not synced, and why.
	WaitForSync(ctx context.Context) error
}

// errGivenUp is the cause that the others see once one of them has failed.
var errGivenUp = errors.New("given up, as another cannot sync any more")

// WaitFor blocks until all of them have synced. It returns at once when ctx ends, or when one of them cannot sync any
// more because it has stopped: the error then joins what each that has not synced says, in their order, with the last
// errors of lists and watches.
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
			if errs[i] = s.WaitForSync(ctx); errs[i] != nil {
				cancel(errGivenUp) // too late if ctx has ended
				return
			}
			logger.Info("Done waiting", "for", what, "instance", s.Name())
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	if err != nil {
		var missing []string
		for i, s := range syncers {
			if errs[i] != nil {
				missing = append(missing, s.Name())
			}
		}
		logger.Error(err, "Did not sync", "for", what, "instances", missing)
	}
	return err
}

// syncWait is a wait for something to sync.
type syncWait struct {
	who          string
	synced, done <-chan struct{}
	ended        func() error // says why done is closed; nil is ErrStopped
	lastError    func() error
}

// wait blocks until synced is closed. If ctx or done ends first, the error names what was waited for and why it did not
// come.
func (w syncWait) wait(ctx context.Context) error {
	cause := ErrStopped
	select {
	case <-w.synced:
		return nil
	case <-w.done:
		if w.ended != nil {
			cause = w.ended()
		}
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	if isClosed(w.synced) {
		return nil
	}
	return withLastError(w.lastError, fmt.Errorf("%s has not synced: %w", w.who, cause))
}

// withLastError adds the last error of lists and watches, if there is one.
func withLastError(last func() error, err error) error {
	if cause := last(); cause != nil {
		return fmt.Errorf("%w: last error: %w", err, cause)
	}
	return err
}

// pause lets crashPause go by, or less if stop is closed.
func pause(stop <-chan struct{}) {
	t := time.NewTimer(crashPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-stop:
	}
}
