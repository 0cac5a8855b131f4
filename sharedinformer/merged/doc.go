// Package merged makes one informer of several sources of one resource: namespaces, or selectors. It is for programs
// that may see some namespaces only, or whose sources come and go; a learner may skip it.
//
//	source a ─▶ reflector ─┐    ┌───── merge ──────┐
//	source b ─▶ reflector ─┼───▶│ an entry a key ──┼─▶ queue ─▶ store ─▶ handlers
//	source c ─▶ reflector ─┘    │    ▲     │       │              │
//	                            │ grace ◀──┘       │              └─ bookmarks ─▶ WaitForResourceVersion
//	                            └──────────────────┘
//
// An entry is what the merge knows of one object: which sources have it, each in what version; which version is
// shown; at what version a source lost it. An event changes one entry. Then the entry is settled by the first line
// that is true:
//
//	a source has a version that is not in doubt     ─▶ show it, if it is newer than what is shown
//	sources have it, in versions that are in doubt  ─▶ wait for these sources
//	no source has it, but one may yet tell of it    ─▶ wait for that source, at most for the grace; then delete it
//	no source has it                                ─▶ delete it, and forget the entry
//
// A loss at version 7 puts older versions of that object in doubt, because their sources may not know of the loss
// yet. A version newer than all that were shown is in no doubt, nor is a source that has said everything up to 7. All
// sources are of one resource, so their versions compare.
//
// # Guarantees
//
//   - The newest version wins, and is told once.
//   - A version does not go back while the object is there, unless its sources show that the server was set back. A
//     source that could not read a newer version keeps the object there, and its older version is not shown.
//   - A list or a deletion of one source takes away nothing that another source has.
//   - An object that moves from one source to another within [Options].MoveGrace is one update.
//   - An object with another UID is a deletion and an add.
//   - Sources can be added and removed at any time. What only a removed source had is deleted at once.
//   - The informer has synced once every source has listed. What came until then is one list.
//   - The store's resourceVersion is the lowest that the sources have reached. A source that is added does not set it
//     back; [Informer.WaitForResourceVersion] waits for that source all the same.
//   - A server that was set back, as by a restored backup, is noticed by a list that goes back, or by a source that
//     has passed the version shown and then tells of an older one.
//
// # Not guaranteed
//
//   - Independence before the first sync: a source that cannot list keeps the others waiting. WaitForSync's error
//     names it.
//   - An order of versions that do not compare. They count in their order of arrival, and nothing waits.
//   - News only: a source whose first list is old may show again what another source saw the end of.
//   - Quick correction after a set-back. An object stays as it is until every source that has it has listed again. If
//     a source knows only a version that was shown before, or from before it passed what a removed source has shown,
//     it stays until the source tells of it again.
//   - Updates for objects that a relist finds unchanged.
//
// # Locks and memory
//
// One mutex makes the sources take turns. The queue is written under it and may make the merge wait for the consumer,
// which never takes it. The user's Transform runs before, in each source's goroutine: once for each source that has
// the object. An entry costs some 200 bytes and holds no object that is in the store. A loss is remembered until the
// sources that may have the object have passed it with a list or bookmark: remove a source that never lists.
//
// Reading order: entry.go, settle.go (the four lines above), source.go, merge.go, wait.go.
package merged
