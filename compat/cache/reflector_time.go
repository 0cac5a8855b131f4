package cache

import (
	"context"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// listed is called with each list that went to the store.
func (r *StoreReflector) listed() {
	select {
	case r.relisted <- struct{}{}:
	default: // there is a token already
	}
}

// resyncByClock does for a clock of the caller's what the native reflector does for the real one: the period begins with
// each list.
func (r *StoreReflector) resyncByClock(ctx context.Context) {
	select {
	case <-r.relisted:
	case <-ctx.Done():
		return
	}
	timer := r.options.Clock.NewTimer(r.options.ResyncPeriod)
	defer func() { timer.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
			if r.ShouldResync == nil || r.ShouldResync() {
				if err := r.store.Resync(); err != nil {
					utilruntime.HandleErrorWithContext(ctx, err, "Unable to resync", "reflector", r.Name())
				}
			}
		case <-r.relisted:
			timer.Stop()
		}
		timer = r.options.Clock.NewTimer(r.options.ResyncPeriod)
	}
}
