// Package sharded lets several ingress controllers work at the same time, each on the Services of its shards. Package
// ingress knows nothing of it: this one goes around it with [ingress.Hooks].
//
//	shards followed ─▶ informers ─▶ queue ─▶ reconcile: pins the shard, drops others' keys
//	                                            └▶ Reconciler.In(a view of the shard)
//	                                                  └▶ byLabel: once more with what the cache cannot have
//
// A Service is reconciled by one replica. One that has no Lease, or has not listed a Service's shard, does nothing to it.
//
// # What the shards divide by
//
//	By               Services        Ingresses                       for
//	Namespace        of its shards   of its shards                   clusters without one namespace that has most of all
//	UID              of its shards   all                             one large namespace
//	UID and ByLabel  of its shards   whose label names its shards    that, and more Ingresses than one process holds
//
// The rules ask for what has a Service's name. Rules 1 to 3 ask for the Service's own Ingress. Rule 4 asks for that of an
// earlier Service, and rule 5 for those of others, without labels as well. In one namespace all have one hash. Their
// UIDs have not, and no selector finds an Ingress by its name's Service. So with UID each replica watches all.
//
// With ByLabel the controller writes the label <prefix>/shard, and what does not have it is unseen. If an unseen Ingress
// is in the way of a creation, the server refuses that. Then a list of this one tells whose it is: rules 4 and 5 hold,
// and one of this Service gets its label. No event tells when an unseen one goes, so it is looked at again every
// unseenDelay.
//
// Rule 2 needs the unseen Ingresses of Services that ask for none. Such an Ingress has the label of another number of
// shards, or none yet. So a replica that got shards lists the metadata of all unseen Ingresses, those of others as
// well. If somebody takes a label off or changes it, its Ingress is found by its name when the Service stops asking.
// One that somebody makes without the label, for a Service that asks for none, stays until shards move. So does one
// whose label somebody changed, if shards moved before its Service stopped asking.
//
// If the server refuses a deletion with 400 or 422, the Ingress may lose its label afterwards. It is still found by its
// name, at each reconcile of its Service. As with labels, the deletion is sent again when one of the two has changed.
//
// With UID a replica's Ingresses may be older than what the former owner of a Service wrote. A write that this leads to
// is refused by its precondition, and tried again. A Service that was deleted and made again is another one, with
// another shard: two replicas may look at that name for a moment, each for its Service.
package sharded
