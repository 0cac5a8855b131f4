package cache

import (
	"context"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// listed is called with each list that went to the store.
func (r *StoreReflector) listed() {
	select {
	case r.run.relisted <- struct{}{}:
	default: // there is a token already
	}
}

// resync calls the store's Resync each period, anew from each list. A failed one ends a ListAndWatch without an error.
func (r *StoreReflector) resync(ctx context.Context) {
	select {
	case <-r.run.relisted:
	case <-ctx.Done():
		return
	}
	for {
		timer := r.options.Clock.NewTimer(r.options.ResyncPeriod)
		select {
		case <-ctx.Done():
			return
		case <-r.run.relisted:
			timer.Stop()
			continue
		case <-timer.C():
		}
		if r.ShouldResync != nil && !r.ShouldResync() {
			continue
		}
		if err := r.store.Resync(); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "Unable to resync", "reflector", r.Name())
			if r.run.single {
				r.run.end()
				return
			}
		}
	}
}
