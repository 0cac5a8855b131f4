package sharedinformer

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// minResync is the shortest resync period.
const minResync = time.Second

// setResyncLocked decides how often a listener that asks for period is resynced, as client-go does: before the start the
// informer's own period follows the shortest one asked for, afterwards the handlers follow the informer's. It says why if
// it is not what was asked for.
func (i *Informer[T]) setResyncLocked(l *listener[T], period time.Duration) (raised string) {
	if period == 0 {
		period = i.opts.ResyncPeriod
	}
	period = max(period, 0)
	if period > 0 && period < minResync {
		raised = "it is raised to a second"
		period = minResync
	}
	if period > 0 && period < i.resyncCheck {
		if i.started {
			raised = "it is raised to the running informer's"
			period = i.resyncCheck
		} else {
			i.resyncCheck = period
		}
	}
	if period > 0 && i.resyncCheck == 0 {
		raised = "the informer has no resync"
		period = 0
	}
	l.resync = period
	l.nextResync = time.Now().Add(period)
	return raised
}

// resyncDue marks the listeners that are due a resync now and reports whether there are any. Until the first look all are
// taken to be due, so that they hear of an early relist, too.
func (i *Informer[T]) resyncDue(now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	found := false
	for _, l := range i.listeners {
		l.due = l.resync > 0 && !now.Before(l.nextResync)
		if l.due {
			l.nextResync = now.Add(l.resync)
			found = true
		}
	}
	return found
}

// keepTime closes synced once the first list is in the store, and starts resyncs: the period begins anew with each list.
func (i *Informer[T]) keepTime(ctx context.Context) {
	i.mu.Lock()
	period := i.resyncCheck
	i.mu.Unlock()
	var tick <-chan time.Time
	var timer *time.Timer
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	queueSynced := i.queue.Synced()
	for {
		select {
		case <-ctx.Done():
			return
		case <-queueSynced:
			queueSynced = nil
			i.markSynced()
		case <-i.relisted:
			if period > 0 {
				if timer != nil {
					timer.Stop()
				}
				timer = time.NewTimer(period)
				tick = timer.C
			}
		case <-tick:
			if i.resyncDue(time.Now()) {
				if err := i.queue.Resync(); err != nil {
					klog.FromContext(ctx).Error(err, "Resync failed", "informer", i.opts.Name)
				}
			}
			timer.Reset(period)
		}
	}
}
