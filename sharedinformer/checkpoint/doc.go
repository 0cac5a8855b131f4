// Package checkpoint is an informer that keeps its store on disk, so that the next run of the program begins with it.
// It is for programs whose first list is too slow or too heavy for the server; a learner may skip it.
//
//	file ──load──▶ queue ─▶ store, handlers                   first: what the last run had
//	               reflector: a watch from the file's version
//	                  ├─▶ the server goes on from there ────▶ synced
//	                  └─▶ the server refuses ──▶ list ──────▶ synced
//	file ◀──save── snapshot of the store                      each Interval, and at the end
//
// [New] returns an [Informer]: a *sharedinformer.Informer whose queue is filled from the file before its reflector
// runs.
//
// # Guarantees
//
//   - The store is filled before the first request. Handlers get its objects as adds of their initial list.
//   - The first request is a watch from the file's resourceVersion, not a list. Nothing that happened meanwhile is
//     missed, and deletions arrive as such. What was restored is not transformed again.
//   - HasSynced waits until the server goes on from that version: its first event or bookmark is in the store, or a
//     watch has lasted for a second without an error. Until then the store can be read, and is as old as the file.
//   - A server that no longer has the version (410), or does not have it yet, is listed. Handlers are told what
//     differs, with FinalStateUnknown for what is gone. HasSynced waits for that list.
//   - A file that is damaged or of another format is not used. Neither is one about another cluster, source, Go type
//     (each of its fields counts) or transform, or whose objects do not get to the store because a hook panics. A line
//     in the log says why.
//   - The file is written each Interval if the store has moved or there was a list, and when the informer stops. A
//     write that fails leaves the file of before; [Stats] and the log tell.
//   - Nothing is written once an object could not be read or transformed in this run, or BeforeStore or Observe has
//     panicked: the file would claim to have what is not in the store.
//   - What comes before the informer has synced counts as its initial list.
//
// # Not guaranteed
//
//   - That HasSynced means up to date. After a quiet second, what happened meanwhile may still be on its way.
//   - That a server which was restored from a backup is noticed for ever. Before it watches, the informer asks for one
//     object, to see that the server has come to the file's version. Once the restored server has passed that version,
//     nobody can tell: remove the files after a restore.
//   - That a cluster which was rebuilt is noticed, if [Options].Cluster does not tell: see
//     [glasswatch/listwatch/resume.ClusterID].
//   - That the last changes are in the file: those that wait in the queue when the informer stops come again next time.
//
// Reading order: checkpoint.go (what a user sees), keeper.go (one run), codec.go (the bytes).
package checkpoint
