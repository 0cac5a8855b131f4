// Package lens answers, in a running program: why was this key reconciled?
//
//	watch ─▶ handler ── enqueues ──▶ key ─▶ reconcile ─▶ write
//	   ▲     called:                 cause:     ended:      │ its resourceVersion
//	   │     informer, object,       the call   outcome,    │
//	   │     resourceVersion         it was in  writes      ▼
//	   └────────── the write comes back: the next cause is the reconcile's own ──┘
//
// A [Lens] is told of four things, in the goroutine where they happen: a handler is called, a key is enqueued, a key is
// reconciled, something is written. A key that is enqueued during a handler's call has that call as its cause. What is
// written during a reconcile belongs to its key. The server's answer says at which resourceVersion the write comes back.
//
//	l := lens.New(lens.Options{On: true})
//	cfg.Wrap(l.Transport)                                            // the writes, of any client
//	mux.Handle("/debug/informers/", l.Handler())                     // the page, and JSON
//
//	sharedinformer.Options{Observe: l.ObserveInformer("services")}          // with our layers
//	controller.Options{Observe: lens.ObserveController[listwatch.Key](l, "ingress")}
//
//	informer = l.WatchInformer("services", informer)                 // with client-go, compat/cache, controller-runtime
//	queue = lens.WatchQueue(l, "ingress", queue)
//
// # Guarantees
//
//   - A lens that is off costs a comparison a call, and with our layers what an observer costs. One that is on asks for
//     the goroutine's number, about two microseconds, for each key that is enqueued or taken and for each write, and with our
//     layers for each event; the event of an own write costs a comparison of two objects more, and a write that its answer
//     is read twice. docs/use/why.md has what that comes to for a program. It can be switched at any time.
//   - Memory is bounded, by [Options]. Of each key the newest causes and reconciles are kept. An informer that has ended is
//     let go when somebody looks, or when another one is added.
//   - No value of an object is kept or shown: only its kind, key and resourceVersion, and the names of fields that an
//     own write has changed.
//   - All methods may be called from any goroutine. No function of the program is called with a lock held.
//
// # Not guaranteed
//
//   - The cause of a key that is enqueued by another goroutine than the one in which the handler was called. It is told
//     as "the program".
//   - The key of a write that a reconcile makes in another goroutine.
//   - That a write which changes nothing is told from one that does. If managedFields name another manager than the request
//     does, the event is not taken for its own. Transforms may remove them, and their times have whole seconds.
//   - That more keys than Options.Keys that wait at a time keep their causes.
//   - The backlog of a client-go handler, and what is delayed in a client-go queue: that is not visible from outside. In
//     place of a number the page says so.
//   - How far an informer is behind its server, unless somebody asks: see [Lens.Ask]. What it says is of that moment.
//   - That a loop of more than seven different passes, or one that has ended after less than eight, is marked.
//   - That what happened while the lens was off is known.
//
// Reading order: lens.go, story.go, habits.go, native.go, clientgo.go, transport.go, informers.go, server.go, queues.go,
// http.go.
package lens
