// Package differential plays random histories to whole informers, client-go's and ours, and compares the results. It also tells one story
// to every combination of the parts of both.
//
//	script ──▶ internal/apiserver ──┬─ gate ─▶ client-go's shared informer ──▶ handlers ─┐
//	 (rapid)   one history          ├─ gate ─▶ compat/cache's              ──▶ handlers ─┼─ the same after every step
//	                                └─ gate ─▶ sharedinformer's            ──▶ handlers ─┘
//
// All three live in one bubble of virtual time, on one server. After each step, once all is quiet, these must be the same:
//
//   - the calls of each handler, per object, in order: add, update or deletion, old and new resourceVersion,
//     isInInitialList, tombstone, and whether the object was transformed;
//   - the store with its resourceVersion, its index by namespace, and the reflector's resourceVersion;
//   - whether the informer and each handler's registration has synced, also while a handler is in the middle of its initial
//     list.
//
// The story (story_test.go, parts_test.go) is told to reflector, queue, store and low-level controller, each client-go's or ours, in
// every combination, with each kind of queue, with streaming and with paged lists; then to whole informers. A low-level controller makes
// its own reflector. Where the story needs the other side's, that one feeds the queue, and the controller's own waits for a server that
// never answers.
//
// # Running
//
//	go test ./tests/differential                                  a few histories for each kind of queue
//	go test ./tests/differential -rapid.checks=10000              as many for each
//	go test ./tests/differential -run Scripts -replay FILE -v     one script, told step by step
//
// A failure prints its shrunk script. Scripts in testdata are played by every test run.
//
// # Where the two are made equal, and not compared less
//
// Backoffs are random. So each informer's requests are held in a gate, and released for all informers at the same moment. The server ends
// all watches at the same moment, before their random timeouts. Failures are planned in the gates, each for one request of each informer.
//
// A handler that is blocked or removed in the middle of a list is compared by the number of its calls. client-go
// delivers a list in the order of a map.
//
// # What the histories leave out, because ours differs on purpose
//
//   - A resync that is due while a list is outstanding: client-go's timer stops from the end of the watch to the list,
//     ours goes on. The player lets a resync pass before it starts an outage.
//   - Other outages of the watch than 410, 429, 500 and a refused connection: client-go lists again, ours resumes.
//     After a 403 both list.
//   - A watch that ends within a second of its streaming list: client-go takes it for a very short one.
//   - A watch from a resourceVersion that is too large: client-go lists at the version it has, ours at the latest.
//   - A paged list whose version is not available: client-go then asks for everything at once, ours for pages.
//   - A page other than the first that fails: client-go starts over, ours goes on with the page. Expired tokens are in.
//   - A streaming list without an answer for 30 seconds: ours uses a paged one meanwhile. So planned failures are
//     dropped then, requests are not answered one by one, and the watch cache does not lag.
//   - A server that refuses a streaming list and answers a later one: client-go asks for one with each list, ours after an hour.
//   - A streaming list that ends after a second or more without its bookmark: client-go streams again, ours lists in pages.
//   - A streaming list without a version, answered with an unavailable version: client-go repeats it, ours lists in
//     pages.
//   - Three planned failures of one kind in a row: after a second 410 ours waits where client-go asks once more.
//   - Objects that cannot be read or transformed, a server that is set back, deletions of unknown objects.
//   - The resourceVersion of the store with the per-key queue, and with client-go's in-order queue without AtomicFIFO: theirs
//     follows objects in the order of a map.
package differential
