// Package reflector keeps a [Sink] (a queue, a store) equal to what a [listwatch.ListerWatcher] lists: one list, then a
// watch for what changes, and a way back from every failure of either.
//
//	      Idle
//	       │ Run
//	       ▼           refused, silent, ended too early
//	ListingStreaming ──────────────────────────────────▶ ListingPaged
//	       │                                                  │
//	       │ end of the initial events: Replace               │ last page: Replace
//	       ▼                    stream ends                   ▼
//	   Watching ────────────────────────────────────────▶ Connecting
//	 Add, Update, …  ◀────────────────────────────────────────┘
//	                              answered
//
//	any of these four ── some errors ──▶ BackingOff ── time is up ──▶ a listing state, or Connecting
//	any state ── context cancelled ──▶ Stopped
//
// It is made of five ideas:
//
//  1. States. Each [State] owns what it needs, such as an open stream. Its step does one thing and returns the next
//     state. [Reflector.Run] loops over steps, in one goroutine. (state.go, reflector.go, stream.go)
//  2. Two kinds of lists, and both end in one Replace. A streaming list is a watch with sendInitialEvents: its events
//     are gathered until a bookmark says that they are complete, and then the same stream goes on as the watch. A paged
//     list takes the place of one that fails. (list.go)
//  3. One version. The [Sink] has everything up to there. It follows the events of a watch once the sink has them, and
//     never goes back on a stream. The next list and the next watch ask for it. (watch.go, sink.go, version.go)
//  4. One table says what follows which error in which state. The program executes it. (errors.go, kinds.go)
//  5. Looking on. [Stats], [Options.Observe] and the other functions in [Options] see what passes, and change nothing.
//     (observe.go, report.go)
//
// # Versions
//
// While no version is known, a streaming list asks for the latest state, a paged list for any that a watch cache has.
// Later lists ask for one not older than the last version, or for exactly that one if they have a limit: see
// [Options.PageSize]. If the server does not have it, they ask for the latest state. A paged list reports every object
// that cannot be read. The objects of a streamed list reach the sink sorted by key.
//
// An event older than where its watch started shows that the server was set back to a backup: [ErrRewound], and a list
// of the latest state. Streams that say that their versions are in no order are exempt: see [listwatch.FromWatch].
//
// # Guarantees
//
//   - Order: the sink gets events in the server's order, from one goroutine. A batch acts like its single events.
//   - Duplicates: an event may come again after a reconnect. Replace may hold what the sink has.
//   - Completeness: once the server answers again, the sink becomes equal to it, whatever failed before.
//   - A bad object costs that object only. It is reported and counted, and keeps its last good version.
//   - An unreadable event without a key, such as a bookmark, ends its watch. The next watch asks for it again, once. If
//     versions may fall, or among the first events of a watch from "" or "0", nothing asks again.
//   - If it stays unreadable, or nothing asks again, it is skipped. But if it may be a deletion (DELETED, or of an
//     unknown type), a list of the latest state follows, after a wait: only a list shows what is gone.
//   - Blocking: cancelling Run's context ends each request, read and backoff at once, but no call of the sink.
//
// # Not guaranteed
//
//   - That every version is seen: what changes twice while there is no watch is seen once, or, if deleted, not at all.
//   - That a deletion is seen as one: after a relist it is an absence from Replace.
//   - That a server which was set back is noticed, if it is past the last resourceVersion when the watch resumes.
//   - That an object is kept whose name cannot be read in a list.
//   - That a list ends soon. Only the HTTP client's Timeout bounds a paged list. If a server ignores sendInitialEvents
//     but sends events, the streaming list goes on until the server ends it.
//
// Reading order: walkthrough_test.go, then the files above in the order of the ideas.
package reflector
