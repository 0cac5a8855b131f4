// Package reflector keeps a [Sink] (a queue, a store) equal to what a [listwatch.ListerWatcher] lists: one list, then a
// watch for what changes, and a way back from every failure of either.
//
// It is a state machine. [State] names the states. The table in errors.go says what follows an error in each.
// [Reflector.Run] loops in one goroutine: the method of a state does its work and returns the next state.
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
//	any of these four ── error ──▶ BackingOff ── time is up ──▶ a listing state, or Connecting
//	any state ── context cancelled ──▶ Stopped
//
// # Lists
//
// A streaming list is a watch with sendInitialEvents. Its events are gathered until a bookmark says that they are
// complete. Then the sink gets one Replace, sorted by key, and the same stream goes on as the watch. After most
// errors a paged list takes its place. If the server refuses it, or begins it and falls silent, or an object cannot be
// read, lists are paged for [Options.StreamingRetry]. Only a paged list tells which objects could not be read.
//
// The first streaming list is of the latest state, the first paged list of any that a watch cache has. Later ones are
// not older than the last version seen. If the server does not have that version, the latest state is asked for.
//
// # Watches
//
// A watch starts at the last resourceVersion. When it ends or its connection breaks, the next one resumes there at
// once. If the server is overloaded, not there or going away, it resumes there after a wait. After anything else, such
// as 410, a list follows after a wait. So does one if a watch ends within a second and brought nothing, or if ten
// watches in a row failed in an outage: it may be watches only that fail.
//
// The resourceVersion follows the events once the sink has them, and never goes back on a stream. An event older than
// where its watch started shows that the server was set back to a backup: [ErrRewound], and a list of the latest
// state. Streams that say that their versions are in no order are exempt: see [listwatch.FromWatch].
//
// # Guarantees
//
//   - Order: the sink gets events in the server's order, from one goroutine. A batch comes to the same as one by one.
//   - Duplicates: an event may come again after a reconnect. Replace may hold what the sink has.
//   - Completeness: once the server answers again, the sink becomes equal to it, however watches and lists failed
//     before.
//   - A bad object costs that object only. It is reported and counted, and keeps its last good version. A watch's event
//     that does not even tell its name is asked for once more, if versions are in order, and then passed over.
//   - An error of the sink is reported and counted, and nothing else.
//   - Blocking: cancelling Run's context ends every wait at once.
//
// [Options.Observe] is called just before the sink is given something, with no lock held. While it blocks, nothing is
// read from the stream: the server's events wait in the connection, and the stream's deadline is put off.
//
// # Not guaranteed
//
//   - That every version is seen: what changes twice while there is no watch is seen once, or, if deleted, not at all.
//   - That a deletion is seen as one: after a relist it is an absence from Replace.
//   - That a server which was set back is noticed, if it is past the last resourceVersion again when the watch
//     reconnects.
//   - That an object is kept whose name cannot be read in a list.
//
// Reading order: state.go, errors.go, reflector.go, streaminglist.go, pagedlist.go, watch.go, stream.go; then the rest.
package reflector
