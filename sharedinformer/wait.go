package sharedinformer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"glasswatch/internal/rv"
)

// lifecycle is what informers and registrations have in common: each syncs once, and ends once.
type lifecycle struct {
	who     string // for errors
	synced  chan struct{}
	done    chan struct{}
	whyDone error // why done is closed; set before

	mu        sync.Mutex
	lastError func() error // of lists and watches, nil if they work; protected by mu
}

// waitForSync blocks until synced is closed. If ctx ends first, or end is closed, it returns an error that wraps the cause
// and the last error of lists and watches.
func (l *lifecycle) waitForSync(ctx context.Context, end <-chan struct{}) error {
	select {
	case <-l.synced:
	case <-end:
	case <-ctx.Done():
	}
	if isClosed(l.synced) {
		return nil
	}
	cause := context.Cause(ctx)
	if isClosed(end) {
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

// ErrNoStoreVersion: the informer has a per-key queue, whose store does not tell how far it has come.
var ErrNoStoreVersion = errors.New("the store of a per-key queue has no resourceVersion")

// WaitForResourceVersion blocks until the store shows everything up to resourceVersion. The version must come from a
// write or a list of the informer's own resource. Those of other resources may not be comparable. A program that writes
// and then waits reads its own write.
//
// The store's version moves with events, bookmarks and lists. A write brings no event if the informer does not select
// the object or cannot read or transform it. A later event or a bookmark then ends the wait. Servers send a bookmark
// about once a minute. Handlers may have been told less than the store shows.
//
// A version that is no positive decimal number is an error at once. So is a per-key queue (ErrNoStoreVersion), or a
// store whose own version cannot be compared. If ctx ends or the informer stops first, the error names the informer and
// wraps the cause. If lists or watches fail at the moment, it wraps the last of their errors, too.
func (i *Informer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	if i.opts.Queue == PerKey {
		return fmt.Errorf("%s: waiting for resourceVersion %s: %w", i.life.who, resourceVersion, ErrNoStoreVersion)
	}
	err := rv.Check(resourceVersion)
	if err != nil {
		return fmt.Errorf("%s: cannot wait for resourceVersion %q: %w", i.life.who, resourceVersion, err)
	}
	var lastLook error // not nil: why the next look at the store is the last
	for {
		next := i.fanout.nextBatchStored() // before the look: it closes with the first batch that the look may miss
		reached, err := hasReached(i.store.ResourceVersion(), resourceVersion)
		if reached {
			return nil
		}
		giveUp := cmp.Or(err, lastLook)
		if giveUp != nil {
			err := fmt.Errorf("%s has not reached resourceVersion %s: %w", i.life.who, resourceVersion, giveUp)
			return withLastError(err, i.LastError())
		}
		select {
		case <-next:
		case <-i.storeFinal:
			lastLook = ErrStopped
		case <-ctx.Done():
			lastLook = context.Cause(ctx)
		}
	}
}

// nextBatchStored returns a channel that is closed when the next batch is in the store.
func (f *fanout[T]) nextBatchStored() <-chan struct{} {
	f.storeAndListeners.Lock()
	defer f.storeAndListeners.Unlock()
	if f.batchStored == nil {
		f.batchStored = make(chan struct{})
	}
	return f.batchStored
}

// wakeWaitersLocked closes what nextBatchStored has returned.
func (f *fanout[T]) wakeWaitersLocked() {
	if f.batchStored != nil {
		close(f.batchStored)
		f.batchStored = nil
	}
}

// hasReached reports whether a store at version has come to wanted.
func hasReached(version, wanted string) (bool, error) {
	if version == "" || version == "0" { // neither is the version of anything
		return false, nil
	}
	order, err := resourceversion.CompareResourceVersion(version, wanted)
	if err != nil {
		return false, fmt.Errorf("the store is at resourceVersion %q: %w", version, err)
	}
	return order >= 0, nil
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
