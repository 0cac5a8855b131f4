// Package ingress is the ingress controller: it gives a Service that asks for
// one an Ingress of the same name, and keeps it right.
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
//     is deleted, if this Service controls it.
//  3. Deleted by hand it comes back; owned fields changed by hand are put right.
//     Owned are class, rules and the ownerReference, nothing else.
//  4. A deleted Service's Ingress is left to the garbage collector. Under a
//     re-created Service it is waited for.
//  5. An Ingress that this Service does not control is never touched.
//  6. Nothing is written for what is being deleted.
//
// # Guarantees
//
// Reads come from the caches, and a write happens only on a difference. Every
// write names what it means: a create fails if the name is taken, a correction
// carries the uid and the resourceVersion and a deletion has them as its
// preconditions, so a stale cache can cost a retry but never another one's
// Ingress, nor one that was orphaned meanwhile. After a write the key rests
// until the cache has caught up with it.
//
// Bad input costs one Warning Event per UID, reason and message, and no retry;
// the last good Ingress stays. 400 and 422 rest until the Service or the Ingress
// changes. Everything else is retried without limit.
//
// A process that may not write yet (Options.MayWrite) fills its caches and keeps
// them up to date; it takes over without a list. Ready fails while a list or a
// watch fails, with what the API server said, and heals by itself: it is asked
// again every ten to twenty seconds.
//
// # What is not guaranteed
//
// An Event is best effort: one that the API server will not take, after some
// tries, is dropped and not sent again. After a restart a standing problem is reported once more: Events are
// remembered in memory only. Two controllers with different Config on the same
// Services would undo each other; each would slow down and emit a Contested
// Event.
package ingress
