package sharedinformer

import "time"

// minResync is the shortest resync period.
const minResync = time.Second

// resyncState says whether a listener is due a resync: it is then given updates that did not change the resourceVersion.
type resyncState uint8

const (
	// neverChecked: no check has come since it was registered. It hears of an early relist, but has no part in a resync
	// that was decided on before it came.
	neverChecked resyncState = iota
	notDue
	isDue
)

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

// checkResync looks which listeners are due a resync now, and reports whether there are any.
func (i *Informer[T]) checkResync(now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	found := false
	for _, l := range i.listeners {
		l.due = notDue
		if l.resync > 0 && !now.Before(l.nextResync) {
			l.due = isDue
			l.nextResync = now.Add(l.resync)
			found = true
		}
	}
	return found
}
