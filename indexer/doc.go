// Package indexer is a typed, thread-safe store with indices, transactions and snapshots: the cache that listers read.
//
//	     Add Update Delete Replace Apply: one writer at a time, under the lock
//	                 ▼
//	 key ──▶ slot    keys    |k|k|k|…|      columns of slots, cut into chunks of 256,
//	value ─▶ slots   objects |o|o|o|…|      each stamped with the epoch in which it was made
//	                 │
//	  ┌──────────────┴───────────┐
//	  ▼ GetByKey, small ByIndex  ▼ Snapshot: the columns of this moment, in constant time
//	  copied out under           List, ListKeys, All, large ByIndex read one
//	  the read lock              outside any lock
//
// # Guarantees
//
//   - Readers that iterate do not stop writers. After a snapshot, a writer copies each chunk once before it writes
//     there, and each column's list of chunks once. Without a snapshot nothing is copied. Until the next write later
//     readers share that snapshot.
//   - A snapshot is one moment across Len, Get, All, ByIndex and ResourceVersion, for as long as it is kept.
//   - Apply and Replace are all or nothing for every reader. Reads never go back in time.
//   - Index functions run before the store is locked, and so may read it. A write never asks them about the old object.
//   - An index function may fail on an object, with an error or a panic. The object is then stored, and missing from
//     that index only. OnError is told, with the store unlocked. The object's next version is indexed again.
//   - An update that changes no index value allocates nothing, except what it copies because of a snapshot.
//   - The store keeps no reference to a deleted object, though a snapshot may. The structures shrink after deletions.
//
// # Not guaranteed
//
//   - Any order, except that of ListIndexValues and, given Options.Compare, of ListKeys and IndexKeys.
//   - That an update replaces the stored key. The store keeps the equal key that came first, and its strings' memory.
//   - That a stored object stays as it is. Objects are not copied: a change to one is seen by all, but not indexed.
//   - Which of two writers at the same time is last, and how often an index function is called.
//   - That a lookup never waits. It waits for a write in progress, also for a long transaction.
//
// As deltafifo.KnownObjects the store is called with that queue's lock held. The store never calls the queue. If that
// queue's process function writes to the store, index functions and OnError also run under the queue's lock.
//
// Reading order: column.go (copy on write), content.go (slots), index.go (posting lists), store.go (lock, epochs),
// write.go, read.go, snapshot.go, replace.go, values.go (index functions), indexers.go (indices that come and go).
package indexer
