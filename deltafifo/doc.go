// Package deltafifo holds the change logs between the watch and the store. The reflector writes what it sees. One
// consumer reads, applies the changes to the store and tells the handlers.
//
//	reflector                    the log                             consumer
//
//	Add Update Delete  ──▶  DeltaFIFO   a: [Added, Updated]   ──▶  Pop: all changes of one key
//	DeleteKey               (per key)   b: [Deleted]
//	Replace Resync
//	Bookmark           ──▶  InOrder     a+ b- a~ list sync b+ ──▶  Pop: one event, PopBatch: many
//	                        (as it came)
//
// DeltaFIFO is the queue of the tutorials. It gathers the changes of each key. It asks the store what it has, so that a
// list becomes one Replaced or Deleted delta per key. Its consumer processes under its lock. The question goes against
// the stream: [KnownObjects] is declared here and implemented by the indexer.
//
// InOrder is what informers use by default. It asks nothing: a list is one ReplacedAll event, a resync one SyncAll. The
// consumer compares them with its store, and no lock is held meanwhile. Events reach the store in the order of their
// resourceVersions, so a Bookmark is meaningful.
//
// # Guarantees
//
// Concurrency: all methods may be called from any goroutine. InOrder has one consumer, DeltaFIFO any number.
//
// Order: InOrder hands out every event once, in the order of the calls. DeltaFIFO hands out the deltas of a key in that
// order, and keys in the order of their first pending delta. Of two deletions of a key in a row the better informed one
// stays. A Sync is dropped if the key has something pending, a deletion if the key is neither queued nor known.
//
// Blocking: the pops block until there is something to pop, or the queue is closed and empty. DeltaFIFO's methods wait
// for a running process function, except HasSynced and Synced. InOrder's do not, but there is backpressure: while two
// full batches wait behind the one being processed, mutators wait until that one ends.
//
// Failing transforms: an error or a panic costs the object's new version, and nothing else. OnError is told. An Add or
// Update queues nothing. In a Replace the key counts as present. A Delete is queued without an object (Missing).
//
// Initial list: HasSynced turns true when the last entry of the first Replace was processed, not when it was taken. An
// empty list, or an Add, Update, Delete or DeleteKey before any list, makes it true at once.
//
// Memory: slices given to process functions are cleared and reused; objects and Bulks belong to the consumer. Steady
// work allocates nothing. What a burst needed is let go when later work uses less than a quarter of it.
//
// # Not guaranteed
//
// That what Close leaves in the queue is ever popped; that producers are refused after Close; that a resourceVersion
// reaches the store through DeltaFIFO, which drops bookmarks; that a batch is as long as it could be.
//
// # Reading order
//
// delta.go, deltafifo.go, deltafifo_append.go, deltafifo_replace.go, deltafifo_pop.go; then inorder.go, inorder_pop.go.
package deltafifo
