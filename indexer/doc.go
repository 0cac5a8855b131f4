// Package indexer is a typed, thread-safe store with indices, transactions and snapshots: the cache that listers read.
// It has four ideas:
//
//  1. A map gives each key a slot, a number from 0 without gaps. Keys, objects and index sets stand in tables by slot.
//  2. A table is cut into chunks. A snapshot shares the chunks with the store and marks them. A writer copies a marked
//     chunk before it writes there (copy-on-write).
//  3. An index maps a value to the set of slots whose objects have that value.
//  4. One writer works at a time. It asks the index functions before it locks the readers out.
//
// Three Pods with an index by node. If db is deleted, the last object moves into the gap: api gets slot 1.
//
//	 1 slots            2 tables, in chunks of 256           3 the index's sets
//	                slot   keys   objs   filed
//	"web" ──▶ 0       0    web    Pod    [n1]                "n1" ──▶ {0, 2}
//	"db"  ──▶ 1       1    db     Pod    [n2]                "n2" ──▶ {1}
//	"api" ──▶ 2       2    api    Pod    [n1]
//
//	 4 a write
//	lock writing ─ ask index functions ─ lock mu ─ change ─ unlock mu ─ unlock writing ─ OnError
//	               readers go on         readers wait       readers go on
//
// # Guarantees
//
//   - Readers that iterate do not stop writers: List, ListKeys and All read a snapshot, outside any lock.
//   - A snapshot is one moment across Len, Get, All, ByIndex and ResourceVersion, for as long as it is kept. After it,
//     a writer copies each chunk once before it writes there. Without a snapshot nothing is copied.
//   - Apply and Replace are all or nothing for every reader. Reads never go back in time.
//   - An index function may fail on an object, with an error or a panic. The object is then stored, and missing from
//     that index only. OnError is told, with the store unlocked. The object's next version is indexed again.
//   - Index functions may read the store. A write never asks them about the old object.
//   - An update that changes no index value allocates nothing, except what it copies because of a snapshot.
//   - The store keeps no reference to a deleted object, though a snapshot may. A map with less than a quarter of the
//     entries that it once had is made anew, as small as it can be.
//
// # Not guaranteed
//
//   - Any order, except that of ListIndexValues and, given Options.Compare, of ListKeys and IndexKeys.
//   - That an update replaces the stored key. The store keeps the equal key that came first, and its strings' memory.
//     So it does with an index value, until no object has it.
//   - That a stored object stays as it is. Objects are not copied: a change to one is seen by all, but not indexed.
//   - That an index function may write: it runs inside a write, so writing to its own store deadlocks.
//   - That a lookup never waits. It waits for a write's change, and for a snapshot to copy the lists of chunks. Both wait
//     for lookups to copy their answers. A change that makes a map anew copies a quarter of what that once had.
//
// As deltafifo.KnownObjects the store is called with that queue's lock held. The store never calls the queue. If that
// queue's process function writes to the store, index functions and OnError also run under the queue's lock.
//
// Reading order: content.go and shrinkingmap.go (idea 1), table.go (2), index.go (3), store.go, answers.go and write.go
// (4), read.go, snapshot.go.
package indexer
