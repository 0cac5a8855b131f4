// Package reflector keeps a [Sink] (a queue, a store) equal to what a [listwatch.ListerWatcher] lists: one list, then a
// watch for what changes, and a way back from everything that can happen to either.
//
// It is a state machine. [State] names the states, each with what it is left for; the reflector's step does what one
// state asks for and returns the next; [Reflector.Run] only loops. Nothing is pushed: the goroutine in Run pulls each
// event from the stream and hands it to the sink.
//
//	      Idle
//	       │ Run
//	       ▼           refused, silent, ended too early
//	ListingStreaming ───────────────────────────────────▶ ListingPaged
//	       │                                                   │
//	       │ end of the initial events: Replace                │ last page: Replace
//	       ▼                    stream ends                    ▼
//	   Watching ─────────────────────────────────────────▶ Connecting
//	 Add, Update, …  ◀─────────────────────────────────────────┘
//	                              answered
//
//	any of these four ── error ──▶ BackingOff ── time is up ──▶ a listing state, or Connecting
//	any state ── context cancelled ──▶ Stopped
//
// # Lists
//
// A streaming list comes first: a watch with sendInitialEvents, whose events are gathered until a bookmark says that
// they are complete. Then the sink gets one Replace, and the same stream goes on as the watch. A paged list takes its
// place
//
//   - for [Options.StreamingRetry] after the server refused it with 400, 405 or 422, or began it and had no event in it
//     for [Options.SilenceTimeout] (silence counts, not the total time: a large list may take as long as a watch may);
//   - for as long if [Options.CheckConsistency] finds it wrong;
//   - for this once when there was no answer for [Options.SilenceTimeout], when an event in it does not tell whose it is,
//     when the stream ended before the list did, or with any other error but 429 and a refused connection, which are
//     waited out.
//
// The resourceVersion of a list is, for the first, none (streaming) or "0" (paged: whatever a watch cache has); then the
// last one seen, so that a relist does not go back in time; and none, for the latest state, if the server answers that it
// no longer has that one (410) or does not have it yet (too large). A first list at "0" that comes in several pages
// means that the server has no watch cache here: later lists are in pages, too. Otherwise they ask for everything at once.
//
// # Watches
//
// A watch starts at the last resourceVersion. When it ends, or its connection breaks, the next one starts at once at the
// version of its last event; after 429, a 5xx other than 500, or a connection that cannot be made, after a wait; after
// anything else, 410 and 500 among it, a list follows after a wait ([Options.MaxInternalErrorRetry] gives a 500 time to
// heal first). A watch from "" or "0", where lists have no version, cannot tell what is gone, so a list comes before each.
// A watch that ends within a second without a version that goes on counts as an error.
//
// A resourceVersion is taken over when the sink has been given its event. The events with which a watch from "" or "0"
// begins are in no order, so their versions are not. On a stream the version never goes back; a list may set it back,
// after a backup was restored. An event or a bookmark older than where its watch started shows that this has happened:
// a list of the latest state follows ([ErrRewound]).
//
// # Guarantees
//
//   - Order: the sink gets events in the server's order, from one goroutine. A [BatchSink] is given those together that a
//     [listwatch.BatchStream] has together, and it comes to the same as one by one.
//   - Duplicates: an event may come again after a reconnect, as Add of what is there, or with a resourceVersion the sink
//     has. Replace may hold what the sink has.
//   - Completeness: once the server answers again, the sink becomes equal to it, however watches and lists failed before.
//   - A bad object costs that object only. It is reported to [Options.OnError], counted in [Stats], and skipped; its
//     resourceVersion is not taken over. On a list it counts as present, with the last good version. A deletion
//     whose object cannot be read is a DeleteKey, if it can be told of what.
//   - What does not even name its object is asked for again first, once, as it may have been garbage on the way: an event
//     by a watch from the last version, a list as a whole, after a wait.
//   - An error of the sink is reported and counted, and nothing else.
//   - Blocking: cancelling Run's context ends every wait at once, and Run returns when its goroutines are gone.
//
// # Not guaranteed
//
//   - That every version of an object is seen: what changes twice while there is no watch is seen once, or, if it is
//     deleted, not at all.
//   - That a deletion is seen as one: after a relist it is an absence from Replace.
//   - That an object is ever noticed to be gone if neither its name nor its deletion can be read, before the next list.
//   - That a server which was set back is noticed, if it is past the last resourceVersion again when the watch reconnects.
//   - That an object is kept whose name cannot be read in a list twice in a row: Replace lacks it, as if it were gone,
//     until a version can be read. A Replace cannot say that something unknown is there, too, and to do without one
//     would keep what is gone for as long as the one object is bad.
//
// # Where client-go differs
//
// It answers an outage of the watch, other than a refused connection, with a list; this one goes on where it was. Its
// streaming list waits without end for a missing bookmark, and starts over without a pause if the stream ends instead;
// ours falls back to pages. It tries a refused streaming list on each relist, this one after an hour. Its backoff
// starts anew every two minutes even under constant failure, this one after two minutes without a wait. It leaves a
// Retry-After to the REST client. A wait within its streaming list is not ended by cancellation. It repeats a watch from
// "0" without a list, and misses what was deleted meanwhile. Its resourceVersion follows an old bookmark back, and plays
// history again. A Replace that fails makes it list again, here it is reported. It has no resyncs while it
// lists anew, however long lists fail; ours go on. A page that fails in an outage costs it the whole list, here that
// page. It ignores a MinWatchTimeout of less than five minutes, which this one takes at its word.
package reflector
