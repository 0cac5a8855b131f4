// Package controller runs a reconcile function over a work queue. This part is the same in all controllers.
//
//	informers ──handlers──▶ Enqueue ──▶ ┌───────┐ ──key──▶ worker ──▶ Reconcile(ctx, key)
//	             (EnqueueObject,        │ queue │                        │
//	              EnqueueOwner)         └───────┘ ◀──────────────────────┤
//	                                        ▲      error: retried with exponential backoff
//	                                        └───── Result{RequeueAfter}: queued again after that time
//	                                               nil, Terminal(err), too many retries: forgotten
//
// # What it promises
//
//   - One worker at a time reconciles a key. A key that is enqueued during its reconcile is reconciled once more
//     afterwards, however the first reconcile ended.
//   - A key that fails is retried, by default without a limit. The delay doubles up to Options.MaxDelay. Success,
//     RequeueAfter, [Terminal] and Options.MaxRetries reset the delay.
//   - A panic of a reconcile is logged with its stack, counted, and treated as a failure of that key. It is never
//     terminal. A reconcile that ends its goroutine (runtime.Goexit) counts as failed, too, but no stack is logged.
//   - Order: by priority, then first come, first served. A retry keeps the priority of its key.
//   - Blocking: Enqueue and its variants never wait for a worker. Run returns when all workers have ended.
//   - Shutdown: when its context is cancelled, Run closes the queue to more keys. Queued keys are still reconciled
//     within Options.DrainTimeout. After that the context of the reconciles is cancelled, the rest of the queue is
//     left undone, and Run returns an error that says so.
//
// # Looking on
//
// Options.Observe is called for each step of each key, with no lock held. It may block the goroutine that reports: the
// caller of Enqueue, or a worker. With [EnqueueObject] and [EnqueueOwner] that caller is the handler's goroutine of
// the informer. The queue and other workers go on.
//
// # What it does not promise
//
//   - That every change is seen: a key is enqueued, not a change. The reconciler looks at the present state.
//   - That success, [Terminal] or MaxRetries cancels a delayed retry that is pending since an earlier failure.
//   - That a reconcile that ignores its context ends in time.
//   - That a delayed key survives a shutdown: retries and requeues that are not due yet are dropped.
//   - That a panic outside a reconcile, as in an observer or a rate limiter, is caught: it ends the program.
//
// Reading order: reconciler, controller and worker; then options, handlers and observe; then the package metrics.
package controller
