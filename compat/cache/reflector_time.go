package cache

import (
	"context"
	"fmt"
	"time"
)

// listed is called with each list that went to the store.
func (r *StoreReflector) listed() {
	r.takeFailedResync() // from before the list, which is what it would lead to
	select {
	case r.run.relisted <- struct{}{}:
	default: // there is a token already
	}
}

func (r *StoreReflector) takeFailedResync() {
	select {
	case <-r.resyncFailed:
	default:
	}
}

// resync calls the store's Resync each period, anew from each list. A failed one ends the watch, and a list follows after
// a wait.
func (r *StoreReflector) resync(ctx context.Context, relisted <-chan struct{}) {
	failed := true // nothing is due before the first list
	for {
		var due <-chan time.Time
		stop := func() bool { return false }
		if !failed {
			timer := r.options.Clock.NewTimer(r.options.ResyncPeriod)
			due, stop = timer.C(), timer.Stop
		}
		select {
		case <-ctx.Done():
			stop()
			return
		case <-relisted:
			stop()
			failed = false
			continue
		case <-due:
		}
		if r.ShouldResync != nil && !r.ShouldResync() {
			continue
		}
		err := r.store.Resync()
		if err == nil {
			continue
		}
		failed = true
		select {
		case r.resyncFailed <- fmt.Errorf("unable to resync: %v", err):
		default: // one is enough
		}
	}
}
