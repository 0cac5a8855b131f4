// Package sharedinformer is the fan-out: one reflector, one queue and one store a resource, and any number of handlers.
//
//	                          Informer[T]
//	            ┌────────────────────────────────────────────┐
//	listwatch ─▶│ reflector ─▶ queue ─▶ consumer ─▶ store ───┼──▶ Lister, snapshots
//	            │                ▲         ├──▶ backlog ──▶ ──┼──▶ handler 1
//	            │   resync timer ┘         └──▶ backlog ──▶ ──┼──▶ handler 2
//	            └────────────────────────────────────────────┘
//
// Below it is a [Controller]: reflector and queue around any process function.
//
// Reading order. What a user sees: handler.go, registration.go, options.go. Then the path of one event:
//
//  1. consume (controller.go) takes a batch from the queue with PopBatch, and gives it to process (informer.go).
//  2. apply (process.go, mirror.go) changes the store. Of each change, noteChange makes a notification.
//  3. distributeLocked (fanout.go) has append (listener.go) put the notifications into each handler's backlog.
//  4. next, in the handler's goroutine, takes them from the backlog. tell (notification.go) calls the handler.
//
// Then fold.go, resync.go, lister.go, waitfor.go, waitversion.go, stats.go, observe.go. Factories and
// checkpoints are packages below this one. They attach by the last fields of [Options].
//
// # Guarantees
//
//   - Order: a handler is told of the changes of one object in the order in which the store took them. With the
//     in-order queue and without folding that holds across objects, too.
//   - Legality: no add for an object that the handler knows, no update and no deletion for one that it does not know.
//   - A handler that joins late is given the store as adds of its initial list. It misses nothing and sees nothing
//     twice: one mutex spans commit and append to the backlogs, and likewise registration and snapshot.
//   - The store is ahead of the handlers: when one is told of a change, the store shows it, or something later.
//   - With the in-order queue a full list changes the store in one step. Then handlers are told of the deletions,
//     then of the rest. With the per-key queue a list comes object by object, and the store has no resourceVersion.
//   - Blocking: a handler's calls come one at a time, from a goroutine of its own, with no lock held. A slow handler
//     holds up neither the store nor other handlers. A handler may add handlers and remove them, even itself.
//   - Run returns when every goroutine is gone. [Informer.ShutDownHandler] and [Registration.Wait] return after the
//     handler's last call, or when ctx ends. A handler must not wait for itself: it would wait for its own return.
//
// # Folding
//
// By default a handler gets every change, and a slow one's backlog grows without a bound. With [HandlerOptions].Fold
// the backlog has at most one change for each object: from the last state d that the handler was given to the newest
// state n. That change keeps the place of the first one:
//
//	absent → n         OnAdd(n)
//	d → n              OnUpdate(d, n)
//	d → n, other UID   OnDelete(d), with FinalStateUnknown even if the deletion was seen; OnAdd(n)
//	d → absent         OnDelete(its last version), or OnDelete(d) with FinalStateUnknown if its deletion did not come
//	absent → absent    nothing
//
// An initial add that was folded away counts as delivered for HasSynced. A handler that needs each event must not fold.
// [HandlerOptions].MaxBacklog then bounds its backlog: a handler past the bound is removed. Without Fold,
// an object that a relist finds replaced by one of another UID is told as OnUpdate(old, new).
//
// # Resync
//
// A resync gives a handler each object of the store again, as an update to itself. A handler is due once its own period
// has passed. The informer checks which handlers are due, and resyncs those. A check comes when the check period has
// passed since the last list or check. The check period is Options.ResyncPeriod or, if shorter, the shortest period
// that a handler asks for before Run. A list restarts the check period, not the handlers' periods.
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
//
// A server restored from a backup gives out resourceVersions a second time. A relist may then show another state of an
// object under the same version. With the per-key queue that counts as unchanged. With the in-order queue, a list that
// is not newer than the store is compared with it, with the informer's mutex held. All handlers are told of what
// differs.
//
// # Not guaranteed
//
//   - That a handler sees every version of an object: a relist skips what happened in between.
//   - That a backlog is delivered when the informer stops: call [Informer.DrainHandler] before, and wait for Done.
//   - Anything, once a program modifies an object: the store and all handlers share it.
//   - That a handler's panic ends the process. utilruntime.HandleCrash does so by default. If it does not, the call
//     counts as made, and the next follows after a second.
//
// # Locks
//
// Index functions run with the informer's mutex held and must not call the informer. With the per-key queue the store
// is written under the queue's lock, too: see [glasswatch/deltafifo.KnownObjects].
package sharedinformer
