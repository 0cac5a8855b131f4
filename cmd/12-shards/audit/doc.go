// Package audit checks replicas that share work by package shards, from outside.
//
//	replica ── Observe: a key was taken, was decided on ──▶ ┌───────┐ ──▶ AtOnce: keys that two had at once
//	   └─ Wire ── Ingress writes and their answers ───────▶ │ Audit │ ──▶ Writes: those that the server took,
//	API server ── a watch: SawIngress, SawLease ──────────▶ └───────┘     and those that the Leases did not allow
//
// What a replica believes to own is not asked. A write has a version, and so has each change of a Lease. Versions grow
// over all kinds of an API server with one etcd. So the Leases at the version of a write say who was to write then: the
// replica whose term the fence names, while its own Lease has the same term.
//
// # What is guaranteed
//
//   - AtOnce does not miss keys. A replica has a key from when its worker took it, which is somewhat before the
//     reconcile begins, until the reconcile ends.
//   - A write whose answer was lost counts for the replica that sent it.
//
// # What is not
//
//   - The watch must show each version. An informer does, unless it must list again.
//
// All methods are safe for concurrent use.
package audit
