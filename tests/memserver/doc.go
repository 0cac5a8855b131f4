// Package memserver is one resource of ConfigMaps in memory. It keeps the promises of a real API server's lists and
// watches, without the wire, and with every fault on command. Tests that compare two informers let both talk to the
// same Server, each through a [Client] of its own.
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
//   - A list shows one moment: at "" the newest, at "0" the watch cache's (Options.Lag behind), at N one no older than
//     N. All pages of a list show the moment of its first page, until that is compacted.
//   - A watch from N brings every later change once, in order. From before the compacted revision it is refused with
//     410, or gets an ERROR event (Options.ExpireByEvent).
//   - A streaming list brings the moment as ADDED events, then the bookmark that ends them, and goes on as a watch.
//   - A watch ends at [Server.EndWatches], not after the random time that a client asks for. So two clients lose their
//     watches at the same moment.
//   - Objects are copies: no client sees another's writes to them.
//
// While requests are held (Hold) they wait, each at its client's gate, until Release, or until Answer lets one request of each
// client pass. So a test can let two clients go on at the same moment, although their backoffs are random.
//
// It runs in testing/synctest bubbles: whatever waits here is durably blocked.
package memserver
