// Package storage keeps versioned objects in memory, as etcd and the API server's watch cache do together. It has one
// revision counter, a consistent snapshot of every recent revision, and a history that watchers replay.
//
//	Create/Update/Delete ─▶ revision 17 ─▶ table "services"
//	                                        tree     ──▶ Snapshot(17): an immutable picture, read outside any lock
//	                                        history  ──▶ Watcher: pulls events 15, 16, 17; a picture hangs on each
//
// # Guarantees
//
//   - A write raises the revision by exactly one and stamps it on the object. A failed write changes nothing.
//   - A snapshot of revision r has the objects right after the write that made r.
//   - A Watcher from r delivers exactly the writes to its table after r, in order, each once. Applied to the snapshot of r
//     they give the newest one.
//   - Writers never wait for watchers: a watcher has no queue of its own but reads the shared history. A watcher that
//     falls behind the end of the history ends with ErrLagged.
//
// # What is not guaranteed
//
// Nothing survives the process. Revisions of other tables leave gaps in a table's history, as in etcd. Objects are
// kept as they are handed in: neither the caller nor a reader may change them afterwards.
//
// # Where client-go differs
//
// client-go has no such storage; its fake clientset's tracker keeps no history, no revision and no pages.
package storage
