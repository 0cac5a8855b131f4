// Package sharedinformer is the fan-out: one reflector, one queue and one store per resource, and any number of handlers.
//
//	                          Informer[T]
//	            ┌────────────────────────────────────────────┐
//	listwatch ─▶│ reflector ─▶ queue ─▶ consumer ─▶ store ───┼──▶ Lister, snapshots
//	            │                ▲         ├──▶ backlog ──▶ ──┼──▶ handler 1
//	            │   resync timer ┘         └──▶ backlog ──▶ ──┼──▶ handler 2
//	            └────────────────────────────────────────────┘
//	Factory: one Informer per type, started and stopped together
//
// Below it are a [Controller], which is reflector and queue around any process function, and a [SimpleInformer], which is a
// controller, a store and one handler in the same loop. The Informer is built on the first and shares the rest with the
// second.
//
// Read handler.go and registration.go for what a user sees, controller.go, pipeline.go, process.go, restated.go
// and informer.go for the way of a change, fanout.go, listener.go, buffer.go and fold.go for the way to the handlers, then
// resync.go, lister.go, sharing.go and factory.go; merged.go and its neighbours for one informer on many namespaces or
// selectors.
//
// # Guarantees
//
//   - Order: a handler is told of the changes of one object in the order in which the store took them, and, with the in-order
//     queue and without folding, of the changes of all objects so.
//   - Legality: no add for an object that the handler knows, no update and no deletion for one that it does not.
//   - A handler that joins late is given the store as adds of its initial list; it misses nothing and sees nothing twice.
//     One mutex spans the store's commit and the append to the backlogs, and likewise registration and snapshot.
//   - The store is ahead of the handlers: what a handler is told of is in the store already, or something later is.
//   - With the in-order queue a full list changes the store in one step; then handlers are told of the deletions, then of
//     the rest. With the per-key queue it comes object by object, and the store has no resourceVersion.
//   - Blocking: a handler's calls come one at a time from a goroutine of its own with no lock held. A slow one holds up
//     neither the store nor other handlers. It may add and remove handlers, itself too.
//   - Run returns when every goroutine is gone. The handlers' end after the consumer: nobody is told of something and not
//     served. [Informer.ShutDownHandler] and [Registration.Wait] return after the handler's last call.
//
// # Folding
//
// By default a handler gets every change, and a slow one's backlog grows without a bound. With [HandlerOptions].Fold what
// waits for one object is one change, from the last state d that the handler was given to the newest state n, in the place
// of the first that waited:
//
//	absent → n         OnAdd(n)
//	d → n              OnUpdate(d, n)
//	d → n, other UID   OnDelete(d), OnAdd(n)
//	d → absent         OnDelete, with what the deletion of d told of
//	absent → absent    nothing
//
// isInInitialList stays, and an initial add that was folded away counts as delivered for HasSynced. A handler that needs
// each event sets [HandlerOptions].MaxBacklog instead.
//
// # Sharing
//
// Cached objects are read-only, so equal parts of them need not be in memory twice. The listwatch.Client of an informer may
// have a decoder whose objects share strings, slices, maps and what pointers lead to: [glasswatch/listwatch/memo]. Those of
// a [Factory] have one, unless its options say otherwise or a Transform may write to such parts. A handler that writes to
// an object then writes to others, too; the mutation detector names each.
//
// # Panics
//
// A panic of a handler goes to utilruntime.HandleCrash, which by default ends the process. With
// utilruntime.ReallyCrash = false it is logged, the call counts as made, and after a second the handler is given the next
// change. A handler that ends its goroutine (runtime.Goexit) is removed, with ErrHandlerExited.
//
// # Resync
//
// A handler's period is its own, or the informer's default, but at least a second. Before the informer runs, the shortest
// of them becomes the period in which it looks who is due; afterwards no handler's is shorter than that. At each look the
// handlers whose period is over become due, and stay so until the next look; if there are any, every object is told to
// them as an update to itself. Updates without a change of resourceVersion, as relists bring them, go to those who are due,
// and before the first look to all. In a relist that is no newer than the store, as of a server that was set back, the same
// version may be another state: then it is told to all. The time to the next look begins anew with each list.
//
// # Not guaranteed
//
//   - That a handler sees every version of an object: a relist skips what happened in between, and an object that was deleted
//     and made again meanwhile is an update to another UID (folding handlers get a deletion and an add).
//   - That a handler which is due no resync hears of a state that bears a version it knows, from a server that was set back and
//     is past the store's version again, or with the per-key queue from any that was set back.
//   - That what waits for a handler is delivered when the informer stops: it is dropped. [Informer.DrainHandler] waits.
//   - Anything if objects are modified: they are shared by the store and all handlers.
//   - Who modified an object. [Options].DetectMutations finds that it was modified, and which field.
//   - Index functions of what is stored run with the informer's mutex held and must not call the informer, and a Transform runs in the
//     reflector's goroutine. With the per-key queue the store is written, and Options.Trace called, under the queue's lock, too:
//     it must ask the store what it knows, see [glasswatch/deltafifo.KnownObjects].
//
// # Where client-go differs
//
// It has three goroutines and an unbounded ring per handler; no folding and no bound; tombstones are another type in
// OnDelete; removing a handler drops its backlog, always; an initial add that panics blocks HasSynced of its handler
// for good; a failed transform blocks the sync of a paged list, and on a streaming one looks like a deletion; a
// transform runs twice for each object of a streaming list, and there are none to choose from; a failed index function
// panics, and if the process lives, handlers are not told of that list; the pause after a panic is slept out when the
// informer stops; WaitForCacheSync says false, not why; nobody can wait for a resourceVersion; many namespaces or selectors are as many informers and stores, where [MergedInformer]
// is one; an informer of a factory cannot be stopped alone, started again or freed, and Shutdown waits for a context
// that somebody else must cancel; a deletion of an object that the store does not have is told to handlers; a handler
// that asks for no resync, and joins between a look for who is due and the resync, gets that one; nobody resyncs while
// lists fail; a handler that waits for its own end waits for ever, and one that ends its goroutine is never told of
// anything again, nor noticed; errors of a process function are dropped; WaitFor waits on for what has stopped; typed
// and unstructured informers on one resource share a metrics name, and the second's metrics are lost; reflector metrics
// have a provider and no values; a mutation is reported with both objects in full, not by field, and only if the object
// came within four minutes. The same: how resync periods are determined, see Resync.
package sharedinformer
