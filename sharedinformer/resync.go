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

// wants reports whether the listener is to be told of n. The informer's mutex is held.
func (l *listener[T]) wants(n *notification[T]) bool {
	switch {
	case !n.sameVersion:
		return true
	case n.resync:
		return l.due == isDue
	default: // unchanged in a relist
		return l.due != notDue
	}
}

// setResyncLocked decides how often a listener is resynced, as client-go does. Before the start the check period follows
// the shortest one asked for. Afterwards no handler's is shorter than the check period.
func (f *fanout[T]) setResyncLocked(l *listener[T], defaultPeriod time.Duration) {
	period := cmp.Or(l.opts.ResyncPeriod, defaultPeriod)
	switch {
	case period <= 0 || f.resyncCheck == 0:
		period = 0
	case f.started:
		period = max(period, minResync, f.resyncCheck)
	default:
		period = max(period, minResync)
		f.resyncCheck = min(f.resyncCheck, period)
	}
	l.resync = period
	l.nextResync = time.Now().Add(period)
}

// markDue decides which listeners are due a resync now, and reports whether there are any.
func (f *fanout[T]) markDue() (found bool) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.listeners {
		l.due = notDue
		if l.resync > 0 && !now.Before(l.nextResync) {
			l.due = isDue
			l.nextResync = now.Add(l.resync)
			found = true
		}
	}
	return found
}
