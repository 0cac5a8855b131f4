// Package shards lets all replicas of a controller work: each on some of the keys, no two on the same one.
//
//	            renew                        who lives?            who owns what?
//	member a ──────────▶ Lease web-member-a ─┐
//	member b ──────────▶ Lease web-member-b ─┼─ one watch ─▶ view ─▶ Assign ─▶ decide ─▶ Begin(shard) … done()
//	                     Lease web-shard-…-7 ┘                                   │
//	                       names a's or b's term ◀── written when it moves ──────┘
//
// Each member renews one Lease. All compute the same assignment of the shards to the members that live. Each shard has
// a Lease as well, its fence, which names the term of its owner. A term begins when a process joins; no two are alike.
// A fence is written when its shard moves, and holds as long as the Lease of the member that it names. So the load on
// the server is a renewal a member, not one a shard.
//
// # How a shard moves
//
//  1. Its owner sees that it is assigned to another: Begin refuses it, and the reconciles that run finish.
//  2. The owner writes the other's term into the fence. It never works under that version of the fence again, whatever
//     the answer.
//  3. The other sees the fence with its term, in its watch, and begins.
//
// An owner that leaves lets its reconciles finish, and then takes the term out of its own Lease. If an owner is gone,
// the others wait until they have not seen a renewal for LeaseDuration. Then they take the term out of its Lease, on
// condition that this was not renewed since. Either way its fences are free: whoever is to have a shard writes its own
// term into the fence.
//
// # Guarantees
//
//   - Two members never reconcile the same shard at a time, if clocks are fast or slow by at most [MaxClockDrift] and
//     reconciles return within StopWithin of being cancelled. What clocks show is not compared. A deadline counts from
//     when a renewal was sent, and leaves StopWithin: one that is cut off has stopped before others take its shards.
//   - A member whose Lease is not valid reconciles nothing. One whose watch is behind cannot renew it.
//   - While the server answers, a shard that moves is without work until its reconciles have returned, and for some
//     requests. They are cancelled after StopWithin, and may take StopWithin more. After a crash LeaseDuration comes on
//     top. Package follow lists the shard then. tests/scale holds this against the requests that reach the server.
//   - Of n members that become n+1, about 1/(n+1) of the shards move, to the new one; no other fence is written.
//   - Members with different numbers of shards do not work at the same time; see Options.Shards.
//   - The same holds if somebody deletes a Lease. Its member joins anew.
//
// # Not guaranteed
//
//   - That a reconcile stops that ignores its context, or a machine that was suspended, whose clock stood still. Beyond
//     the bounds only the writes themselves are safe: updates must carry the resourceVersion that was read, deletions
//     the UID, creations a name that is always the same. Then a write that was late is answered by 409.
//   - Anything if others write the group's Leases, or the server is restored from a backup while members run.
//   - That shards are alike in work. The assignment counts members, not load.
//
// Reading order: assign.go, lease.go, view.go, decide.go; then renew.go, pin.go, member.go, options.go.
package shards
