// Package sharedinformer is the fan-out: one reflector, one queue and one store a resource, and any number of handlers.
//
//	                          Informer[T]
//	            ┌────────────────────────────────────────────┐
//	listwatch ─▶│ reflector ─▶ queue ─▶ consumer ─▶ store ───┼──▶ Lister, snapshots
//	            │                ▲         ├──▶ backlog ──▶ ──┼──▶ handler 1
//	            │   resync timer ┘         └──▶ backlog ──▶ ──┼──▶ handler 2
//	            └────────────────────────────────────────────┘
//
// Below it are two smaller ones. A [Controller] is reflector and queue around any process function. A [SimpleInformer]
// is a controller, a store and one handler in the same loop.
//
// Reading order. What a user sees: handler.go, registration.go, options.go. The way of a change to the store:
// controller.go, mirror.go, process.go, informer.go. Its way to the handlers: notification.go, fanout.go, listener.go,
// fold.go. Then resync.go, lister.go, simple.go, waitfor.go, waitversion.go, stats.go, observe.go. Factories,
// checkpoints and the like are packages below this one. They attach by the last fields of [Options].
//
// # Guarantees
//
//   - Order: a handler is told of the changes of one object in the order in which the store took them. With the
//     in-order queue and without folding that holds across objects, too.
//   - Legality: no add for an object that the handler knows, no update and no deletion for one that it does not know.
//   - A handler that joins late is given the store as adds of its initial list. It misses nothing and sees nothing
//     twice: one mutex spans commit and append to the backlogs, and likewise registration and snapshot.
//   - The store is ahead of the handlers: what a handler is told of is in the store already, or something later is.
//   - With the in-order queue a full list changes the store in one step. Then handlers are told of the deletions,
//     then of the rest. With the per-key queue a list comes object by object, and the store has no resourceVersion.
//   - Blocking: a handler's calls come one at a time, from a goroutine of its own, with no lock held. A slow handler
//     holds up neither the store nor other handlers. It may add and remove handlers, itself too.
//   - Run returns when every goroutine is gone. [Informer.ShutDownHandler] and [Registration.Wait] return after the
//     handler's last call: a handler that waits so for itself waits for ever.
//
// # Folding
//
// By default a handler gets every change, and a slow one's backlog grows without a bound. With [HandlerOptions].Fold
// what waits for one object is one change, from the last state d that the handler was given to the newest state n. It
// keeps the place of the first that waited:
//
//	absent → n         OnAdd(n)
//	d → n              OnUpdate(d, n)
//	d → n, other UID   OnDelete(d), OnAdd(n)
//	d → absent         OnDelete(d's last version, or d if that was not seen)
//	absent → absent    nothing
//
// A handler without Fold is told of a new object of the same name that a relist found as OnUpdate(d, n).
//
// An initial add that was folded away counts as delivered for HasSynced. A handler that needs each event sets
// [HandlerOptions].MaxBacklog instead.
//
// # Resync
//
// A resync gives a handler each object of the store again, as an update to itself. The informer checks which handlers
// are due each time that the check period has passed since the last list or check. The check period is
// Options.ResyncPeriod or, if shorter, the shortest period that a handler asks for before Run. It is 10s here:
//
//	Options.ResyncPeriod 30s          handler 10s   handler 0 (default)   handler NoResync
//	relist before the first check     given         given                 given
//	check at 10s, check at 20s        given         nothing               nothing
//	relist soon after one of them     given         nothing               nothing
//	check at 30s                      given         given                 nothing
//	relist soon after it              given         given                 nothing
//	Options.ResyncPeriod 0: relist    given         given                 given
//	Options.ResyncPeriod 0: check     never comes, whatever handlers ask for
//
// A relist row is about the objects that the list shows unchanged. A handler that was due at the last check is given
// them. A list restarts the check period, not the handlers' periods.
//
// A server that is restored from a backup gives out resourceVersions a second time. A relist may then show another
// state of an object under the same version. With the in-order queue all handlers are told of that update. With the
// per-key queue it counts as unchanged.
//
// # Not guaranteed
//
//   - That a handler sees every version of an object: a relist skips what happened in between.
//   - That what waits for a handler is delivered when the informer stops: it is dropped. [Informer.DrainHandler]
//     waits.
//   - Anything if objects are modified: they are shared by the store and all handlers.
//   - That a panic of a handler ends the process: it goes to utilruntime.HandleCrash. If that lets the process live,
//     the call counts as made, and the next follows after a second.
//
// # Locks
//
// Index functions run with the informer's mutex held and must not call the informer. With the per-key queue the store
// is written under the queue's lock, too: see [glasswatch/deltafifo.KnownObjects].
package sharedinformer
