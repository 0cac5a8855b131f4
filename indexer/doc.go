// Package indexer is a typed, thread-safe store with indices, transactions and snapshots: the cache that listers read.
//
//	           Add Update Delete Replace Apply
//	                       │  one writer at a time, in place
//	                       ▼
//	┌──────────────────────────────────────────────┐
//	│ keys │ objects │ table │ an index │ an index │   chunks of at most 256 entries
//	└──────────────────────────────────────────────┘
//	    │ GetByKey              │ Snapshot: the pointers to the chunks, taken in constant time
//	    ▼ locks a 32nd or none  ▼ List, ListKeys, All, ByIndex, IndexKeys, Index run on one, outside any lock
//	 one object              one moment
//
// # Guarantees
//
//   - Readers do not stop writers. While readers iterate, a writer copies the chunks that it touches and that a reader
//     may still look at: each chunk once per snapshot, however many objects or postings there are. Besides that, the first
//     write after a snapshot copies the list of chunks, 8 bytes for 256 entries. With no reader about nothing is copied, lookups
//     apart.
//   - Nor do they keep processors from a writer for long. Reads of 64 objects or more (List, ListKeys, All, ByIndex, IndexKeys,
//     Index) that end while an Apply or a Replace is under way are counted together, and the one that makes another 32,768
//     objects full yields at its end (runtime.Gosched), with whatever lock its caller holds.
//   - GetByKey locks a 32nd of the keys, and nothing once there were about 128 lookups in which no object was added or deleted, until
//     one is. While an Apply of several operations is under way, lookups lock as before; an update of one object that leaves it
//     under the same index values does not even slow them. Writes then copy each chunk once, as after every snapshot. That
//     holds for objects that are pointers; for others, an update counts like a deletion.
//   - A snapshot is one moment across Len, Get, All, ByIndex and ResourceVersion, for as long as it is kept.
//   - Apply and Replace are all or nothing for every reader, also for one that puts several reads together: reads never
//     go back in time.
//   - Index functions run before the store is locked, never on an old object, and so may use the store. If one fails on an
//     object, with an error or a panic, the object is stored and missing from that index only; OnError hears of it, with
//     no lock held; the object's next version is filed again.
//   - An update that leaves the object under the same index values allocates nothing, unless a snapshot shares the chunk.
//   - Deleted objects are let go, and the memory of the structures follows.
//
// # Stores beside it
//
//   - TTLStore is a map whose objects expire some time after they were written. No goroutine runs; each call drops what is
//     due, so an expired object is never seen and the memory is bounded by what is written within one TTL.
//   - MutationCache lies over a store that hears of writes with a delay. It remembers what the server answered to the
//     program's own writes, for a time and up to a number, and a read gives the newer of the two. Versions are compared by a
//     function that it is given.
//
// # Not guaranteed
//
// That a MutationCache remembers a write, or that its ByIndex is one moment across objects. That a key's strings are those
// of the object's latest version: after a snapshot, or many lookups, or with CloneKey, they may be an older one's and keep it
// alive. Any order but that of ListKeys and IndexKeys (given Options.Compare) and ListIndexValues. Objects are stored, not copied: who
// changes a stored object changes it for everybody, behind the indices' back. Of two writers at once, either may be last. A
// GetByKey may wait for a transaction in progress; a large one keeps it waiting for as long as it takes to file its
// operations. AddIndexers, Replace and Apply call index functions in the caller's goroutine, in no promised number.
//
// As the Known side of a deltafifo.DeltaFIFO the store answers ListKeys and GetByKey while that queue is locked; it never
// calls back.
//
// # Where client-go differs
//
// client-go's ThreadSafeStore has one RWMutex: a List of 10,000 objects holds up every write, and a waiting write holds up
// every Get. It asks index functions under that lock, twice for each update, and panics when one fails. Its ByIndex and
// List are two moments unless nobody writes in between; it has no snapshots and cannot remove an index. Its Add takes the
// store's resourceVersion from the object; here Apply, Replace and Bookmark are told.
//
// Its ExpirationCache keeps what nobody reads for ever, and its ListKeys lists what has expired. Its mutation cache finds an
// object that a write has moved to another index value under the old one; it evicts the entry that was least recently read,
// ours the one that was written first; it holds its lock while index functions run; it panics on a version that is no number.
package indexer
