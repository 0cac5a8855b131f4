package sharedinformer

import (
	"cmp"
	"time"
)

// minResync is the shortest resync period.
const minResync = time.Second

// resyncState says whether a listener is due: it is then given updates that left the resourceVersion as it was.
type resyncState uint8

const (
	// neverChecked: no check has come since it was registered. It gets what a relist shows unchanged, but no resync:
	// the check for that came before the handler did.
	neverChecked resyncState = iota
	notDue
	isDue
)

// setResyncLocked decides how often a listener that asks for period is resynced, as client-go does. Before the start
// the check period follows the shortest one asked for. Afterwards no handler's is shorter than the check period.
func (i *Informer[T]) setResyncLocked(l *listener[T], period time.Duration) {
	period = cmp.Or(period, i.opts.ResyncPeriod)
	switch {
	case period <= 0 || i.resyncCheck == 0:
		period = 0
	case i.started:
		period = max(period, minResync, i.resyncCheck)
	default:
		period = max(period, minResync)
		i.resyncCheck = min(i.resyncCheck, period)
	}
	l.resync = period
	l.nextResync = time.Now().Add(period)
}

// checkResync looks which listeners are due a resync now, and reports whether there are any.
func (i *Informer[T]) checkResync() (found bool) {
	now := time.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
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
