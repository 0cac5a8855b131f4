// Package sharedinformer is the fan-out: one source, one queue and one store a resource, and any number of handlers.
//
//	                          Informer[T]
//	            ┌───────────────────────────────────────────────────────┐
//	listwatch ─▶│ source ─▶ queue ─▶ consumer ─▶ store ─────────────────┼──▶ Lister, snapshots
//	            │             ▲         │                               │
//	            │ resync timer┘         └─▶ fan-out ─┬─▶ backlog ──▶ ───┼──▶ handler 1
//	            │                                    └─▶ backlog ──▶ ───┼──▶ handler 2
//	            └───────────────────────────────────────────────────────┘
//
// The ideas:
//
//	1  Source and queue. A reflector fills a queue, and one consumer empties it.        Feeder, Queue
//	2  Store. A batch from the queue is a list, changes or a resync. It becomes one     storeWriter
//	   transaction of the store, and the notifications of what that has changed.        notification
//	3  Fan-out. Each handler has a listener: a backlog, and a goroutine that calls it.  fanout, listener, backlog
//	   Its user has a Registration. A backlog may fold the changes of one object.       Registration, foldedChanges
//	4  One mutex spans the store's commit and the append to the backlogs. It spans a    storeAndListeners
//	   handler's registration and its snapshot of the store, too.
//	5  Synced. An Informer has synced when its store has the first list;                lifecycle
//	   a Registration, when its handler was told of it.                                 initialLeft
//	6  Resync. The store's objects again, as updates, to the handlers that are due.     resyncSchedule
//
// The path of one event. Read the functions in this order:
//
//  1. consume (informer.go) takes a batch from the queue. process calls storeAndDistribute, which locks the mutex.
//  2. apply (apply.go) calls applyList, applyChanges or applyResync. They write the store and make notifications.
//  3. distributeLocked (fanout.go) calls add (backlog.go) for each handler.
//  4. run (listener.go), in the handler's goroutine, takes them from the backlog. callHandler tells the handler.
//
// What a user sees is in handler.go, options.go and registration.go. Around the six ideas stand wait.go, errors.go and
// observe.go. Listers, factories, metrics and checkpoints are packages below this one.
//
// # Guarantees
//
//   - Order: a handler is told of the changes of one object in the order in which the store took them. With the
//     in-order queue and without folding that holds across objects, too.
//   - Legality: no add for an object that the handler knows, no update and no deletion for one that it does not know.
//   - A handler that joins late is given the store as adds of its initial list. It misses nothing and sees nothing twice.
//   - The store is ahead of the handlers: when one is told of a change, the store shows it, or something later.
//   - With the in-order queue a full list changes the store in one step. Then handlers are told of the deletions,
//     then of the rest. With the per-key queue a list comes object by object, and the store has no resourceVersion.
//   - Blocking: a handler's calls come one at a time, from a goroutine of its own, with no lock held. A slow handler
//     holds up neither the store nor other handlers. A handler may add handlers and remove them, even itself.
//   - Run returns when every goroutine is gone. [Registration.Done] closes after the handler's last call. A handler must
//     not wait for itself: it would wait for its own return.
//
// # Not guaranteed
//
//   - That a handler sees every version of an object: a relist skips what happened in between.
//   - That a backlog is delivered when the informer stops: call [Informer.DrainHandler] before, and wait for Done.
//   - Anything, once a program modifies an object: the store and all handlers share it.
//   - That a handler's panic ends the process. utilruntime.HandleCrash does so by default. If it does not, the call
//     counts as made, and the next follows after a second.
//
// # After a backup
//
// A server restored from a backup gives out resourceVersions a second time. A relist may then show another state of an
// object under the same version. With the per-key queue that counts as unchanged. With the in-order queue, all handlers
// are told of every object of a list that is older than the store.
//
// # Locks
//
// A lock comes after those above it, and nobody holds those of two backlogs at once:
//
//	lock                      held by                  while
//	queue                     source, consumer         something is put in, or taken out. With the per-key queue also
//	                                                   while a batch is processed: see [glasswatch/deltafifo.KnownObjects]
//	fanout.storeAndListeners  consumer                 a batch goes to the store and to every backlog
//	                          AddHandler               the store is copied for the handler, and the listener listed
//	                          all others               for a moment, to look at the list of listeners or change it
//	store                     consumer, readers        it is written or read
//	backlog.mu                consumer, its listener   for a moment, to add, to take, or to count a call off
//	none                      listener                 the handler is called
//
// Index functions run with the informer's mutex held and must not call the informer.
package sharedinformer
