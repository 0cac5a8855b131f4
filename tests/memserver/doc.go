// Package memserver is one resource of ConfigMaps in memory: what a list and a watch of a real API server promise, without
// the wire, and with every fault on command. Tests that compare two informers let both talk to the same Server, each
// through a [Client] of its own.
//
//	                      history   100 +a   101 +b   102 a   103 -b
//	                                          ▲                 ▲
//	Put Delete ─▶ Server                  compacted            head
//	EndWatches Fail Compact …                 │
//	                                          ├─▶ Client "client-go"  List, Watch
//	                                          └─▶ Client "ours"       List, Watch
//
// # What it promises
//
//   - A list is one moment: at "" the head, at "0" what the watch cache has (Options.Lag behind), at N no older than N. Pages of
//     one list are the moment of its first page, until that is compacted.
//   - A watch from N brings every later change once, in order; from before the compacted revision it is refused with 410, or
//     answered with an ERROR event (Options.ExpireByEvent).
//   - A streaming list brings the moment as ADDED events, then the bookmark that ends them, and goes on as a watch.
//   - A watch ends when [Server.EndWatches] says so, not after the time that a client asks for, which is random: two clients are
//     to lose their watches at the same moment.
//   - Objects are copies: no client sees what another does to them.
//
// While requests are held (Hold) they wait, each at its client's gate, until Release, or until Answer lets one request of each
// client pass. So a test can let two clients go on at the same moment, although their backoffs are random.
//
// It runs in testing/synctest bubbles: whatever waits here is durably blocked.
package memserver
