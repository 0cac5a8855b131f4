// Package controller runs a reconcile function over a work queue: the part of a controller that is the same in all of them.
//
//	informers ──handlers──▶ Enqueue ──▶ ┌───────┐ ──key──▶ worker ──▶ Reconcile(ctx, key)
//	             (EnqueueObject,        │ queue │                        │
//	              EnqueueOwner)         └───────┘ ◀──────────────────────┤
//	                                        ▲      error: later, and later each time
//	                                        └───── Result{RequeueAfter}: then
//	                                               nil, Terminal(err), retried too often: rest until enqueued
//
// # What it promises
//
//   - A key is reconciled by one worker at a time. Enqueued while it is being reconciled, it is reconciled again after,
//     whatever became of the first time.
//   - A key that fails is tried again after a delay that doubles up to a cap, by default without limit. Success and
//     RequeueAfter reset the delay. A key that was given up, by [Terminal] or Options.MaxRetries, starts anew when it is
//     enqueued again.
//   - A panic of a reconcile is logged with its stack, counted, and handled as a failure of that key, also if it panics with
//     a terminal error. One that ends its goroutine is a failure of that key, too.
//   - Order: by priority, then first come, first served; a retry keeps its key's priority.
//   - Blocking: Enqueue and its kin never wait for a worker. Run returns when all workers are gone.
//   - Shutdown: once Run's context is cancelled, nothing gets in; what is queued is reconciled within Options.DrainTimeout;
//     after that the reconciles' context is cancelled and what is queued is left, and Run says so.
//
// # What it does not promise
//
//   - That each change is seen: a key is enqueued, not a change. The reconciler looks at the present state.
//   - That a reconcile that ignores its context ends in time.
//   - That a delayed key survives a shutdown: retries and requeues that are not due yet are dropped.
//
// # Where client-go differs
//
// It has no such package: its users write the loop around the work queue by hand, and so the bugs in it (a missing Forget or
// Done, a panic that ends the process, a shutdown that does not wait). The closest relative is controller-runtime's
// controller, whose vocabulary (Result, terminal errors, low priority for initial lists) this package shares.
package controller
