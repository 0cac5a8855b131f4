package sharedinformer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// ErrNoStoreVersion: the informer has a per-key queue, whose store does not tell how far it has come.
var ErrNoStoreVersion = errors.New("the store of a per-key queue has no resourceVersion")

// WaitForResourceVersion blocks until the store shows everything up to resourceVersion, which must be one that a write
// of the informer's own resource returned, or a list of it: versions of other resources need not compare. A program
// that writes and then waits reads its own write.
//
// The store's version moves with events, bookmarks and lists. A write that brings no event, because the informer does
// not select the object or could not read or transform it, is waited for until a later event or a bookmark; servers
// send one about once a minute. Handlers may have been told less than the store shows.
//
// A version that is no positive decimal number is an error at once, as is a per-key queue (ErrNoStoreVersion) or a
// store whose own version cannot be compared. If ctx ends or the informer stops first, the error names the informer and
// wraps the cause and, if lists or watches fail at the moment, the last of their errors.
func (i *Informer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	if i.opts.Queue == PerKey {
		return fmt.Errorf("%s: waiting for resourceVersion %s: %w", i.who, resourceVersion, ErrNoStoreVersion)
	}
	if _, err := resourceversion.CompareResourceVersion(resourceVersion, resourceVersion); err != nil {
		return fmt.Errorf("%s: cannot wait for resourceVersion %q: %w", i.who, resourceVersion, err)
	}
	i.moved.waiting.Add(1)
	defer i.moved.waiting.Add(-1)
	var cause error
	for {
		moved := i.moved.next() // taken before the look: what moves the store after it closes moved
		reached, err := hasReached(i.store.ResourceVersion(), resourceVersion)
		switch {
		case err != nil:
			cause = err
		case reached:
			return nil
		}
		if cause != nil {
			err := fmt.Errorf("%s has not reached resourceVersion %s: %w", i.who, resourceVersion, cause)
			return withLastError(i.LastError, err)
		}
		select {
		case <-moved:
		case <-i.halted:
			cause = ErrStopped
		case <-ctx.Done():
			cause = context.Cause(ctx)
		}
	}
}

// hasReached reports whether a store at version has come to wanted.
func hasReached(version, wanted string) (bool, error) {
	if version == "" || version == "0" { // neither is the version of anything
		return false, nil
	}
	order, err := resourceversion.CompareResourceVersion(wanted, version)
	if err != nil {
		return false, fmt.Errorf("the store is at resourceVersion %q: %w", version, err)
	}
	return order <= 0, nil
}

// broadcast wakes every goroutine that waits. While there is none, send costs one atomic load.
type broadcast struct {
	waiting atomic.Int64

	mu sync.Mutex    // protects ch
	ch chan struct{} // closed by the next send; nil if nobody has asked for it
}

// next returns what the next send closes. The caller must be among the waiting.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) send() {
	if b.waiting.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
