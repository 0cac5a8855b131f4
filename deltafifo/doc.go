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
// list becomes one Replaced or Deleted delta per key. Its consumer has the [KnownObjects] and processes in its lock.
//
// InOrder is what informers use by default. It asks nothing: a list is one ReplacedAll event, a resync one SyncAll. The
// consumer compares them with its store, and no lock is held meanwhile. Events reach the store in the order of their
// resourceVersions, so a Bookmark is meaningful.
//
// # Guarantees
//
//	            DeltaFIFO                                      InOrder
//	consumers   any number                                     one
//	order       keys by their first pending delta              all deltas as they came
//	            the deltas of each key as they came
//	left out    a Sync of a key that has something pending     nothing
//	            a deletion of a key neither queued nor known
//	            of two deletions in a row the worse informed
//	methods     wait for process, except HasSynced, Synced     do not wait for process, but for backpressure
//	empty list  synced at once, if the queue is empty then     synced when it was processed
//	a burst's   goes when the queue gets empty, if less than   goes when less than a quarter of it has been used
//	memory      a quarter was used since it was empty before   for some time
//
// Backpressure: if a pop leaves two full batches or more in the queue, mutators wait until its batch is processed. If
// it leaves less, they do not wait during that batch, however much they queue.
//
// In both queues all methods may be called from any goroutine. The pops block until there is something to pop, or the
// queue is closed and empty. Steady work allocates nothing. The slices that process gets are cleared and reused.
//
// Failing transforms: an error or a panic costs the object's new version, and nothing else. OnError is told. An Add or
// Update queues nothing. In a Replace the key counts as present. A Delete is queued without an object (Missing).
//
// Initial list: HasSynced turns true when the last entry of the first Replace was processed, not when it was taken. An
// Add, Update, Delete or DeleteKey before any list makes it true at once.
//
// # Not guaranteed
//
// That what Close leaves in the queue is ever popped; that producers are refused after Close; that a resourceVersion
// reaches the store through DeltaFIFO, which drops bookmarks; that a batch is as long as it could be.
//
// Reading order: delta, options, intake, base; deltafifo and its _append, _replace and _pop; inorder, inorder_pop.
package deltafifo
