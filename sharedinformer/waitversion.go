package sharedinformer

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"glasswatch/internal/rv"
)

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
	var givenUp error // once set, the next look at the store is the last
	for {
		next := i.fanout.nextBatchStored() // before the look at the store: it is closed by a batch that comes after the look
		reached, err := hasReached(i.store.ResourceVersion(), resourceVersion)
		if reached {
			return nil
		}
		givenUp = cmp.Or(err, givenUp)
		if givenUp != nil {
			err := fmt.Errorf("%s has not reached resourceVersion %s: %w", i.life.who, resourceVersion, givenUp)
			return withLastError(err, i.LastError())
		}
		select {
		case <-next:
		case <-i.storeFinal:
			givenUp = ErrStopped
		case <-ctx.Done():
			givenUp = context.Cause(ctx)
		}
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
