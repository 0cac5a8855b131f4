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
		logger.Error(err, "Did not sync", "for", what) // the error names those that are missing
	}
	return err
}

// waitable is what controllers, informers and registrations have in common: they sync once, and end once.
type waitable struct {
	who    string // for errors
	synced <-chan struct{}
	done   chan struct{}
	// causes says why done was closed, and what the last error of lists and watches was.
	causes func() (ended, last error)
}

// HasSynced reports whether Synced is closed.
func (w *waitable) HasSynced() bool { return isClosed(w.synced) }

// Synced is closed once the first list was dealt with. A controller has then processed it, an informer has it in its
// store, and a registration's handler has been given all of it. It stays open if the handler is removed or drained
// before its informer has synced.
func (w *waitable) Synced() <-chan struct{} { return w.synced }

// Done is closed at the end. For a controller and an informer, that is when Run has returned. For a registration, the
// handler has returned from its last call and will not be called again.
func (w *waitable) Done() <-chan struct{} { return w.done }

// WaitForSync blocks until Synced is closed. If ctx ends or Done is closed first, it returns an error that says what
// was waited for. The error wraps the cause and, if lists or watches failed to the last, the last of their errors.
func (w *waitable) WaitForSync(ctx context.Context) error {
	select {
	case <-w.synced:
	case <-w.done:
	case <-ctx.Done():
	}
	if isClosed(w.synced) {
		return nil
	}
	ended, last := w.causes()
	if !isClosed(w.done) {
		ended = context.Cause(ctx)
	}
	return withLastError(last, fmt.Errorf("%s has not synced: %w", w.who, ended))
}

// withLastError adds the last error of lists and watches, if there is one.
func withLastError(last, err error) error {
	if last != nil {
		return fmt.Errorf("%w: last error: %w", err, last)
	}
	return err
}

// pause lets crashPause go by, or less if stop is closed.
func pause(stop <-chan struct{}) {
	select {
	case <-time.After(crashPause):
	case <-stop:
	}
}
