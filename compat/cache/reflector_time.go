package cache

import (
	"context"
	"math"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	"glasswatch/reflector"
)

// newDelay makes the waits between failures those of options.Backoff, measured by options.Clock. A clock of the caller's is
// waited for right here: the native reflector would wait for the real one.
func (r *StoreReflector) newDelay() func() time.Duration {
	backoff := r.options.Backoff
	if backoff == nil {
		backoff = &wait.Backoff{
			Duration: reflector.DefaultBackoffBase,
			Cap:      reflector.DefaultBackoffMax,
			Steps:    int(math.Ceil(float64(reflector.DefaultBackoffMax) / float64(reflector.DefaultBackoffBase))),
			Factor:   reflector.DefaultBackoffFactor,
			Jitter:   reflector.DefaultBackoffJitter,
		}
	}
	next := backoff.DelayWithReset(r.options.Clock, reflector.DefaultBackoffReset)
	if r.realTime {
		return next
	}
	return func() time.Duration {
		if r.run.ctx.Err() != nil {
			return 0
		}
		timer := r.options.Clock.NewTimer(next())
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-r.run.ctx.Done():
		}
		return 0
	}
}

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
