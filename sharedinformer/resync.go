// # Resync
//
// A resync gives a handler each object of the store again, as an update to itself. Each handler has a period, and is due
// once it has passed. The informer checks once in a check period which handlers are due, and resyncs those. The check
// period is Options.ResyncPeriod or, if shorter, the shortest period that a handler asks for before Run. A list restarts
// the check period, not the handlers' periods. A resync that waits in the queue until after the next check goes to those
// that were due at that one.
//
// A relist is a list after the first one. It also shows objects that did not change. A handler gets OnUpdate for those
// if it was due at the last check, or if no check has come since it joined. Here Options.ResyncPeriod is 30s. Three
// handlers ask before Run for 10s, 0 (the default) and NoResync, so the check period is 10s:
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

// wants reports whether the listener is to be told of something with that cause. The informer's mutex is held.
func (l *listener[T]) wants(c cause) bool {
	switch c {
	case resynced:
		return l.wantsResync
	case repeated:
		return l.wantsRepeated
	default:
		return true
	}
}

// setResyncLocked decides how often a listener is resynced, as client-go does.
func (f *fanout[T]) setResyncLocked(l *listener[T], defaultPeriod time.Duration) {
	asked := cmp.Or(l.opts.ResyncPeriod, defaultPeriod)
	if asked <= 0 || f.resyncCheck == 0 {
		return // it gets none
	}
	l.resync = max(asked, minResync)
	if f.started {
		l.resync = max(l.resync, f.resyncCheck)
	} else {
		f.resyncCheck = min(f.resyncCheck, l.resync)
	}
	l.nextResync = time.Now().Add(l.resync)
}

// markDue is the check: it marks the listeners that are due a resync now, and reports whether there are any.
func (f *fanout[T]) markDue() (found bool) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.listeners {
		due := l.resync > 0 && !now.Before(l.nextResync)
		l.wantsResync = due
		l.wantsRepeated = due
		if due {
			l.nextResync = now.Add(l.resync)
			found = true
		}
	}
	return found
}

// resync has the queue resynced at every check that finds a handler due, until ctx ends. The first period begins with
// the first list.
func (i *Informer[T]) resync(ctx context.Context, period time.Duration) {
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
			if i.fanout.markDue() {
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
