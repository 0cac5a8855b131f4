// Package shards lets all replicas of a controller work: each on some of the keys, no two on the same one.
//
//	            renew                        who lives?            who owns what?
//	member a ──────────▶ Lease web-member-a ─┐
//	member b ──────────▶ Lease web-member-b ─┼─ one watch ─▶ view ─▶ Assign ─▶ decide ─▶ Begin(shard) … done()
//	                     Lease web-shard-…-7 ┘                                   │
//	                       names a's or b's term ◀── written when it moves ──────┘
//
// Each member renews one Lease. All compute the same assignment of the shards to the members that live. Each shard has
// a Lease as well, its fence, which names the term of its owner: the member's identity and a nonce of the process. A
// fence is written when its shard moves, and holds as long as the Lease of the member that it names. So the load on the
// server is a renewal a member, not one a shard.
//
// # How a shard moves
//
//  1. Its owner sees that it is assigned to another: Begin refuses it, and the reconciles that run finish.
//  2. The owner writes the other's term into the fence. It never works under that version of the fence again, whatever
//     the answer. It needs another write, of itself or another, to get the shard back.
//  3. The other sees the fence with its term, in its watch, and begins.
//
// If the owner is gone, the other waits until it has not seen a renewal for LeaseDuration by its own clock. It takes
// the term out of the owner's Lease, on condition that this was not renewed since. Then it writes the fences. An owner
// that was only cut off has stopped by then: it counts its deadline from when it sent a renewal, less StopWithin.
//
// # Guarantees
//
//   - Two members never reconcile the same shard at a time, if clocks are fast or slow by at most MaxClockDrift and
//     reconciles return within StopWithin. What clocks show is not compared.
//   - A member that is cut off cancels its reconciles at least StopWithin before others take its shards.
//   - A member whose Lease is not valid reconciles nothing.
//   - While the server answers, a shard that moves is without work until its slowest reconcile has returned, and for
//     the requests of a hand-over. Reconciles are cancelled after StopWithin, and may take StopWithin more. The new
//     owner's informers list, which package follow does and which takes as long as a list of the shard takes. After a
//     crash LeaseDuration comes on top, counted from when the last renewal was seen. A member whose watch shows nothing
//     stops renewing after LeaseDuration, so its shards wait for two. tests/scale holds all this against the requests
//     that reach the server.
//   - Of n members that become n+1, about 1/(n+1) of the shards move, to the new one; no other fence is written.
//   - Members with different numbers of shards, as in a rolling update, do not work on what overlaps. One number is
//     in use at a time; see Options.Shards.
//   - The same holds if somebody deletes a Lease. Its member joins anew.
//   - OnChange, Metrics and reconciles run without a lock of the caller's concern; Begin, Owns and Held do not block.
//
// # Not guaranteed
//
//   - That a reconcile stops that ignores its context, or a machine that was suspended, whose clock stood still.
//     Beyond the bounds only the writes themselves are safe: updates must carry the resourceVersion that was read,
//     deletions the UID, creations a name that is always the same. Then a write that was late is answered by 409.
//   - Anything if others write the group's Leases, or the server is restored from a backup while members run.
//   - That shards are alike in work. The assignment counts members, not load.
//
// Members need the rights to get, list, watch, create, update and delete Leases in Options.Namespace.
//
// Reading order: assign.go, lease.go, view.go, decide.go; then renew.go, pin.go, member.go, options.go, reconciler.go.
package shards
