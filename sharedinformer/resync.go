// # Resync
//
// A resync gives a handler each object of the store again, as an update to itself. Each handler has a period, and is due
// once it has passed. The informer checks once in a check period which handlers are due, and resyncs those. The check
// period is Options.ResyncPeriod or, if shorter, the shortest period that a handler asks for before Run. A list restarts
// the check period, not the handlers' periods. A resync that waits in the queue until after the next check goes to those
// that were due at that one.
//
// A relist is a list after the first one. It also shows objects that did not change. That is no news, but a repetition,
// as a resync is. So it goes to those handlers, too, that want repetitions now: those that were due at the last check.
// A handler that has seen no check counts as due here. client-go has the same rule.
//
// Here Options.ResyncPeriod is 30s. Three handlers ask before Run for 10s, 0 (the default) and NoResync, so the check
// period is 10s:
//
//	what happens                      10s     0         NoResync
//	relist before the first check     given   given     given
//	check at 10s, check at 20s        given   nothing   nothing
//	relist soon after one of them     given   nothing   nothing
//	check at 30s                      given   given     nothing
//	relist soon after it              given   given     nothing
//
// With Options.ResyncPeriod 0 no check ever comes. All handlers are then given what a relist shows unchanged.
package sharedinformer

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/deltafifo"
)

// minResync is the shortest period of a handler. Options.ResyncPeriod may be shorter: then checks come more often.
const minResync = time.Second

// resyncSchedule decides which repetitions one handler is told of. "Resync" above says why a relist is among them.
type resyncSchedule struct {
	period  time.Duration // 0: it is never due
	next    time.Time     // when it is due
	due     bool          // at the last check that it has seen
	checked bool          // it has seen a check
}

// wants reports whether the handler is to be told of something with that cause.
func (s *resyncSchedule) wants(c cause) bool {
	switch c {
	case resynced: // decided on at a check: not for a handler that has joined since
		return s.due
	case repeated:
		return !s.checked || s.due
	default:
		return true
	}
}

// check decides whether the handler is due now.
func (s *resyncSchedule) check(now time.Time) (due bool) {
	s.checked = true
	s.due = s.period > 0 && !now.Before(s.next)
	if s.due {
		s.next = now.Add(s.period)
	}
	return s.due
}

// newScheduleLocked makes the schedule of a handler that joins now, as client-go does. Before Run, it may make checks more
// frequent.
func (f *fanout[T]) newScheduleLocked(handlerPeriod, defaultPeriod time.Duration) resyncSchedule {
	asked := cmp.Or(handlerPeriod, defaultPeriod)
	if asked <= 0 || f.checkPeriod == 0 {
		return resyncSchedule{} // never due
	}
	period := max(asked, minResync)
	if f.started {
		period = max(period, f.checkPeriod)
	} else {
		f.checkPeriod = min(f.checkPeriod, period)
	}
	return resyncSchedule{period: period, next: time.Now().Add(period)}
}

// checkSchedules is the check. It reports whether a handler is due.
func (f *fanout[T]) checkSchedules() (anyDue bool) {
	now := time.Now()
	f.storeAndListeners.Lock()
	defer f.storeAndListeners.Unlock()
	for _, l := range f.listeners {
		due := l.schedule.check(now)
		anyDue = anyDue || due
	}
	return anyDue
}

// runResyncTimer has the queue resynced at every check that finds a handler due, until ctx ends. The first period begins with
// the first list.
func (i *Informer[T]) runResyncTimer(ctx context.Context, period time.Duration) {
	var periodOver <-chan time.Time // nil before the first list
	synced := i.queue.Synced()
	for {
		select {
		case <-ctx.Done():
			return
		case <-synced: // a first list that is empty makes no batch of the per-key queue, so nothing comes from listPopped
			synced = nil
		case <-i.listPopped:
		case <-periodOver:
			if i.fanout.checkSchedules() {
				klog.FromContext(ctx).V(4).Info("Forcing resync", "reflector", i.opts.Name)
				_ = i.queue.Resync() // never fails
			}
		}
		periodOver = time.After(period)
	}
}

// restartResyncAfterList restarts the check period if a list is in the batch.
func (i *Informer[T]) restartResyncAfterList(batch []delta[T]) {
	isFromList := func(d delta[T]) bool { return d.Type == deltafifo.ReplacedAll || d.Type == deltafifo.Replaced }
	if !slices.ContainsFunc(batch, isFromList) {
		return
	}
	select {
	case i.listPopped <- struct{}{}:
	default: // the timer has not yet seen the list before
	}
}
