// Package ingress is the ingress controller. It creates an Ingress for each Service that asks for one, with the
// Service's name, and keeps it in the desired state.
//
//	Service informer ─┐                    ┌─▶ POST        the Ingress is missing
//	                  ├─▶ key ─▶ Reconcile ─┼─▶ apply       an owned field differs
//	Ingress informer ─┘   (both caches)    ├─▶ DELETE      no longer asked for
//	                                       └─▶ Event       cannot be given
//
// # Rules
//
//  1. A Service whose annotation <prefix>/http is true has an Ingress of its
//     name: one rule, the Service's TCP port named http (else its first TCP
//     port), its host from <prefix>/host (else Config.Host), class Config.Class.
//  2. Annotation gone or false, or a Service of type ExternalName: the Ingress
//     is deleted, if it is the controller's.
//  3. Deleted by hand it comes back; owned fields changed by hand are put right.
//     Owned are class, rules and the ownerReference, nothing else.
//  4. A deleted Service's Ingress is left to the garbage collector. Under a
//     re-created Service it is waited for.
//  5. An Ingress is the controller's if its Service controls it, and if its
//     managedFields say that a controller with this prefix wrote it. No other
//     is ever touched.
//  6. Nothing is written for what is being deleted.
//
// What the demo of cmd/ingress-controller calls its rules are cases of these six, and of the guarantees.
//
// # Guarantees
//
// Reads come from the caches, and a write happens only on a difference. Every write has a precondition. A create fails
// if the name is taken; a correction and a deletion carry the uid and the resourceVersion. So a stale cache can cost a
// retry, but cannot change another owner's Ingress, nor one that was orphaned meanwhile. After a write the key waits
// until the cache has that write.
//
// Bad input causes a Warning Event on the Service, and no retry; the last good Ingress stays. So do a write that is
// refused with 400 or 422, and a 403 that lasts for a minute. The same Event comes again when the problem is back, or
// has lasted for an hour. After a 400 or 422 the write is tried again every five minutes, and at once when the Service
// or the Ingress changes. Everything else is retried with growing delays, without limit.
//
// A process that may not write yet (Options.MayWrite) fills its caches and keeps them up to date; it takes over without
// a list. Ready fails while a list or a watch fails, with the API server's error. The request is repeated every ten to
// twenty seconds, so Ready recovers by itself.
//
// Package sharded lets several replicas work at the same time. It goes around this package with Options.Hooks.
//
// # What is not guaranteed
//
// An Event is best effort: after some failed tries it is dropped. After a restart a problem is reported once more, for
// Events are remembered in memory only. Two controllers with one prefix and different class or host would undo
// each other's writes. Each would slow down and emit a Contested Event. With another prefix than the default, an Ingress
// that an earlier version made is known again only if its Service still asks for it: otherwise it stays.
package ingress
