// Package differential plays random histories to whole informers, client-go's and ours, and wants to see the same.
//
//	script ──▶ memserver ──┬──▶ client-go's shared informer ──▶ handlers ─┐
//	 (rapid)   one history ├──▶ compat/cache's              ──▶ handlers ─┼─ the same after every step
//	                       └──▶ sharedinformer's            ──▶ handlers ─┘
//
// All three live in one bubble of virtual time, on one server. After each step, once all is quiet, these must be the same:
//
//   - what each handler was told, per object, in order: add, update or deletion, old and new resourceVersion, isInInitialList,
//     tombstone, and whether the object was transformed;
//   - the store with its resourceVersion, its index by namespace, and the resourceVersion up to which the reflector has read;
//   - whether the informer and each handler's registration has synced, also while a handler is in the middle of its initial
//     list.
//
// # Running
//
//	go test ./tests/differential                                  a few hundred histories
//	go test ./tests/differential -rapid.checks=10000              as many for each kind of queue
//	go test ./tests/differential -run Scripts -replay FILE -v     one script, told step by step
//
// A failure prints its shrunk script. Scripts in testdata are played by every test run.
//
// # Where the two are made equal, and not compared less
//
// Backoffs are random, so requests are held and let pass for all informers at the same moment. Watches are ended by
// the server, at the same moment, before the random time that clients ask for is over.
//
// A handler that is blocked in the middle of a list, or was removed there, is compared by the number of its calls: the
// order in which client-go tells of the objects of a list is that of a map.
//
// # What the histories leave out, because ours differs on purpose
//
//   - A resync that falls due while a list is outstanding: client-go's timer stands still from the end of the watch to the
//     list, ours goes on. The player lets a resync pass before it starts an outage.
//   - Outages of the watch other than 410, 429, 500 and a refused connection: client-go lists again, ours watches on. 403 is
//     answered with a list by both.
//   - A watch that ends within a second of its streaming list: client-go takes it for a very short one.
//   - A watch from a resourceVersion that is too large: client-go lists at the version it has, ours at the latest.
//   - A paged list whose version is not available: client-go then asks for everything at once, ours for pages.
//   - A page other than the first that fails: client-go starts over, ours goes on with the page. Expired tokens are in.
//   - A streaming list that is not answered for 30 seconds: ours takes a paged one meanwhile, so planned failures are
//     dropped then, the server does not answer requests one by one, and its watch cache does not lag.
//   - A server that refuses a streaming list and answers a later one: client-go asks for one with each list, ours after an hour.
//   - A streaming list that ends after a second or more without its bookmark: client-go streams again, ours lists in pages.
//   - A streaming list from no version that is told that its version is not available: client-go asks again, ours in pages.
//   - Three planned failures of one kind in a row: after a second 410 ours waits where client-go asks once more.
//   - Objects that cannot be read or transformed, a server that goes back in time, deletions of what is not there.
//   - The resourceVersion of the store with the per-key queue, and with client-go's in-order queue without AtomicFIFO: theirs
//     follows objects in the order of a map.
package differential
