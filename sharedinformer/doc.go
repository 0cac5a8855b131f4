// Package sharedinformer is the fan-out: one reflector, one queue and one store per resource, and any number of
// handlers.
//
//	                          Informer[T]
//	            ┌────────────────────────────────────────────┐
//	listwatch ─▶│ reflector ─▶ queue ─▶ consumer ─▶ store ───┼──▶ Lister, snapshots
//	            │                ▲         ├──▶ backlog ──▶ ──┼──▶ handler 1
//	            │   resync timer ┘         └──▶ backlog ──▶ ──┼──▶ handler 2
//	            └────────────────────────────────────────────┘
//
// Below it are a [Controller], which is reflector and queue around any process function, and a [SimpleInformer], which
// is a controller, a store and one handler in the same loop.
//
// Reading order: handler.go and registration.go for what a user sees; controller.go, mirror.go, process.go and
// informer.go for the way of a change to the store; fanout.go, listener.go, backlog.go and fold.go for its way to the
// handlers. Then resync.go, restated.go, lister.go, waitversion.go and observe.go. Factories, merged sources,
// checkpoints, metrics and a mutation detector are packages below this one. They attach by the last fields of
// [Options].
//
// # Guarantees
//
//   - Order: a handler is told of the changes of one object in the order in which the store took them. With the
//     in-order queue and without folding that holds across objects, too.
//   - Legality: no add for an object that the handler knows, no update and no deletion for one that it does not know.
//   - A handler that joins late is given the store as adds of its initial list. It misses nothing and sees nothing
//     twice: one mutex spans the store's commit and the append to the backlogs, and likewise registration and
//     snapshot.
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
//	d → absent         OnDelete, with what the deletion of d told of
//	absent → absent    nothing
//
// An initial add that was folded away counts as delivered for HasSynced. A handler that needs each event sets
// [HandlerOptions].MaxBacklog instead.
//
// # Resync
//
// Before the informer runs, the shortest period that a handler asks for becomes the period of the informer's checks. At
// each check the handlers whose own period is over become due, until the next check. If there are any, they are given
// every object as an update to itself. Updates without a change of resourceVersion, as relists bring them, go to those
// that are due, and before the first check to all. A server that was set back to a backup gives a version out again:
// what is another state under a known version is told to all. The period begins anew with each list.
//
// # Not guaranteed
//
//   - That a handler sees every version of an object: a relist skips what happened in between.
//   - That what waits for a handler is delivered when the informer stops: it is dropped. [Informer.DrainHandler]
//     waits.
//   - Anything if objects are modified: they are shared by the store and all handlers.
//   - That a panic of a handler ends the process: it goes to utilruntime.HandleCrash. If that lets the process live,
//     the call counts as made, and the next follows after a second.
//   - Index functions run with the informer's mutex held and must not call the informer. With the per-key queue the
//     store is written under the queue's lock, too: the queue asks the store what it knows, see
//     [glasswatch/deltafifo.KnownObjects].
package sharedinformer
