// Package deltafifo holds the change logs that stand between the watch and the store: the reflector writes what it sees,
// one consumer reads, applies it to the store and tells the handlers.
//
//	reflector                    the log                             consumer
//
//	Add Update Delete  ──▶  DeltaFIFO   a: [Added, Updated]   ──▶  Pop: all changes of one key
//	DeleteKey               (per key)   b: [Deleted]
//	Replace Resync
//	Bookmark           ──▶  InOrder     a+ b- a~ list sync b+ ──▶  Pop: one event, PopBatch: many
//	                        (as it came)
//
// DeltaFIFO is the queue of the tutorials. It knows keys: it gathers the changes of a key, folds deletions, asks the store
// what it has (KnownObjects) so that a list becomes per-key Replaced and Deleted deltas, and has its consumer process under
// its lock, so that queue and store never disagree.
//
// InOrder is what informers use by default. It knows nothing: a list is one ReplacedAll event, a resync one SyncAll, and
// the consumer works out from its store what they mean. So it needs no lock while the consumer is at work, and events
// reach the store in the order of their resourceVersions, which is what makes a Bookmark meaningful.
//
// # Order and duplicates
//
// Each call of a mutator takes effect at one moment between its start and its return. One producer's calls therefore keep
// their order; of two calls that overlap, either may come first. There is no further lock that would make producers take
// turns: Transform runs before that moment, so with several producers it runs in several goroutines at once. An informer
// has one producer, the reflector, and a timer that calls Resync, which transforms nothing.
//
// InOrder hands out every event once, in that order; no other producer's come between those of one PutAll. DeltaFIFO hands
// out every delta once, except that of two deletions of a key in a row the better informed one stays; the deltas of a key
// are in that order, keys come in the order of their first pending delta. A Sync is dropped where something is pending already, a deletion where nothing is known of the key.
//
// # Blocking
//
// The pops block until there is something to pop or the queue is closed and empty, without a time limit. DeltaFIFO's other
// methods wait for a running process function, HasSynced and Synced excepted. InOrder's do not; but while two full batches
// wait behind the one that is being processed, its mutators wait for the end of that one.
//
// # Failing transforms
//
// A Transform that returns an error, or panics, costs the object's new version and nothing else. OnError is told. For an
// Add or Update nothing is queued: the store keeps the last good version. In a Replace the key counts as present: a Keep
// item in ReplacedAll; neither Replaced nor tombstone in DeltaFIFO. A Delete is delivered without an object (Missing): the
// store's last version is the one to tell of. An object without a key is refused with a *KeyError; in a Replace, the
// others are queued.
//
// # Initial list
//
// HasSynced turns true when the last entry of the first Replace was processed, not when it was taken; an empty list, or an
// Add, Update, Delete or DeleteKey before any list, makes it true at once. Pops say of each entry whether it was taken
// before that.
//
// # Memory
//
// Slices given to process functions are cleared and reused after they return; objects and Bulks are the consumer's. Popped objects are
// not kept. Buffers, lists and entries are reused, so that steady work allocates nothing; what a burst made them grow to
// is let go once later rounds of filling and emptying use less than a quarter of it.
//
// # Not guaranteed
//
// That what Close leaves in the queue is ever popped; producers are not refused after Close. That batches are as long as
// they could be. That a resourceVersion reaches the store through DeltaFIFO: it drops bookmarks.
//
// # The arrow that points back
//
// DeltaFIFO calls KnownObjects with its lock held, and Pop's process function, too: the two methods are declared here and
// implemented by the indexer. InOrder calls no code of others under a lock, [Metrics].Queued excepted.
//
// # Where client-go differs
//
// In client-go, a transform that fails for one object fails the whole Replace, so that its informer lists again for
// ever (a streaming list is transformed once before, where a failure loses the object); an object without a key counts
// as the first event, and the queue as synced; the in-order queue's first list is over too early if an event is being
// processed as it comes; and DeltaFIFO's Done channel closes before the last of the first list is processed. Its
// batches are always as long as they can be, ours end at the end of a buffer as well.
package deltafifo
