// Package merged makes one informer of several sources of one resource: namespaces, or selectors.
//
//	source a ─▶ reflector ─┐   ┌─────────── merge ───────────┐   ┌─ informer ─────────────┐
//	source b ─▶ reflector ─┼──▶│ key ─▶ entry ─▶ what to show ├──▶│ queue ─▶ store, handlers│
//	source c ─▶ reflector ─┘   │          ▲    └▶ wait:       │   └────────────┬───────────┘
//	                           │  settle  └── grace, recheck  │                │ a bookmark is stored
//	                           └──────────────────────────────┘                ▼
//	                                                                WaitForResourceVersion
//
// An entry is what the merge knows of one object: which sources have it, in what version, which version is shown, and at what
// version a source lost it. Each event changes one entry. Then the entry is settled, by the first line that is true:
//
//	a source has a version that no loss puts in doubt  ─▶ show it, if it is newer than what is shown
//	sources have it, but only in doubtful versions     ─▶ wait until one of them has come to the loss: recheck
//	no source has it, but one may not know it yet      ─▶ wait as well, at most for the grace, then delete it
//	no source has it                                   ─▶ delete it, and forget the entry
//
// A loss at version 7 puts older versions of the object in doubt. A source that has said everything up to 7 is in no doubt.
// This works because all sources are of one resource: their versions compare.
//
// # Guarantees
//
//   - The newest version wins, and is told once.
//   - A version does not go back while the object is there, unless its sources show that the server was set back.
//   - A list or a deletion of one source takes away nothing that another source has.
//   - An object that moves from one source to another within [Options].MoveGrace is one update.
//   - An object with another UID is a deletion and an add.
//   - Sources can be added and removed at any time. What only a removed source had is deleted at once.
//   - The informer has synced once every source has listed. What came until then is one list.
//   - The store's resourceVersion is the lowest that the sources have reached. It moves with bookmarks and lists. A source
//     that is added does not set it back; [Informer.WaitForResourceVersion] waits for that source all the same.
//   - A server that was set back (a restored backup) is noticed when a list has a lower version than the list or event
//     before, or when a source that has passed the version shown has an older one.
//
// # Not guaranteed
//
//   - That one source's failure leaves the others alone before the first sync. LastError and WaitForSync name that source.
//   - An order for versions that do not compare: they count in their order of arrival, and nothing waits.
//   - That a source whose first list is old shows nothing old: it may show again what another source saw the end of.
//   - After a set-back, that an object is corrected before every source that has it has listed again. What was shown of a
//     source that was removed before is waited for until the server has come as far again.
//   - A resync or an update for objects that a relist finds unchanged.
//
// # Locks and memory
//
// One mutex makes the sources take turns. The queue is written with it held, and may make the merge wait for the consumer.
// The consumer never takes it. The user's Transform runs before it is taken, in each source's goroutine, so it is called
// once for each source that has the object. An entry costs some 250 bytes and holds no object that is in the store. The version of a
// loss is remembered until the sources that may have had the object have come to it.
//
// Read entry.go for what is known of one object, settle.go for the four lines above, source.go for what sources say, merge.go
// for what runs, and wait.go for WaitForResourceVersion.
package merged
