// Package deltafifo holds the change logs between the watch and the store. The reflector writes what it sees. One
// consumer reads, applies the changes to the store and tells the handlers. In this table a consumer empties a queue of
// each kind after every line of calls; the InOrder has KeysMayRepeat, as in an informer. Object a in version 1 is a@1.
//
//	calls               each Pop of a DeltaFIFO takes              each PopBatch of an InOrder takes
//	Replace a@1 b@2     [Replaced a@1] [Replaced b@2]              [ReplacedAll {a@1 b@2}]
//	Update a@3 b@4 a@5  [Updated a@3, Updated a@5] [Updated b@4]   [Updated a@3, Updated b@4, Updated a@5]
//	Delete b@6          [Deleted b@6]                              [Deleted b@6]
//	Replace c@8         [Replaced c@8] [Deleted a@5: a tombstone]  [ReplacedAll {c@8}]
//	Resync              [Sync c@8]                                 [SyncAll]
//	Bookmark 20         nothing                                    [Bookmark 20]
//
// Reading order: walkthrough_test, delta, options, intake, initialsync, and then one queue: deltafifo or inorder.
//
// The ideas:
//
//	1  A Delta is one change: its type, the object's key, and the object after it.         delta.go
//	2  Producers key and transform an object before they take the lock.                    intake.go
//	3  The first Replace is the initial list. HasSynced turns true when it was processed.  initialsync.go
//	4  DeltaFIFO, the queue of the tutorials, has a list of deltas for each key, and the   deltafifo.go
//	   keys in order of their first delta. It asks the store, its [KnownObjects], what it
//	   has. So it can make a tombstone of each object that a list lacks. Pop calls process
//	   under the queue's lock, so that the store cannot change while a Replace asks.
//	5  InOrder, the queue of informers, has one log. Producers append to its tail, and     inorder.go
//	   the consumer takes batches from its head. It asks nothing: a list is one delta, and
//	   the consumer compares it with its store. No lock is held meanwhile. Events reach
//	   the store in the order of their resourceVersions, so a Bookmark is meaningful.
//
// # Guarantees
//
//	           DeltaFIFO                                            InOrder
//	consumers  any number                                           one
//	order      keys by first delta; deltas of a key as they came    all deltas as they came
//	left out   a Sync of a key that has something pending           nothing
//	           a deletion of a key neither queued nor known
//	           one of two deletions in a row of the same key
//	blocking   Bookmark, HasSynced, Synced: never.                  methods that queue wait under backpressure
//	           All others wait while process runs.
//
// Memory: steady work allocates nothing. Both queues release what a burst has left, once they need less than a quarter
// of it. A DeltaFIFO checks that whenever it gets empty. An InOrder checks it at each change of its two arrays, by a
// high-water mark that decays slowly.
//
// Backpressure: only InOrder has it. If a pop leaves 2·BatchSize deltas or more, all methods that queue wait until its
// process function returns. A producer waits longer if the next pop begins before it wakes up, and again leaves so many.
// Below that threshold, producers never block. Nothing bounds a DeltaFIFO.
//
// In both queues all methods may be called from any goroutine. The pops block until there is something to pop, or the
// queue is closed and empty. The slices that process gets are cleared and reused.
//
// Failing transforms: an error or a panic costs the object's new version, and nothing else. OnError is told. An Add or
// Update queues nothing. In a Replace the key counts as listed. A Delete is queued without an object (Missing).
//
// Initial list: HasSynced turns true at once if Replace leaves a DeltaFIFO empty, or on an event of a single object before
// any list.
//
// # Not guaranteed
//
//   - That what Close leaves in the queue is ever popped.
//   - That producers are refused after Close. What they queue then can still be popped.
//   - The order of two producers that put the same key at a time.
//   - That a resourceVersion reaches the store through DeltaFIFO. It drops bookmarks.
//   - That a batch is as long as it could be.
package deltafifo
