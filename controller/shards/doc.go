// Package shards lets all replicas of a controller work: each on some of the keys, no two on the same one. It is for
// controllers that are too much work for one process; a learner may skip it.
//
//	            renew                        who lives?            who owns what?
//	member a ──────────▶ Lease web-member-a ─┐
//	member b ──────────▶ Lease web-member-b ─┼─ one watch ─▶ view ─▶ Assign ─▶ decide ─▶ Begin(shard) … done()
//	                     Lease web-shard-…-7 ┘                                   │
//	                       names a's or b's term ◀── written when it moves ──────┘
//
// Each member renews one Lease. A process that joins writes a term into it, and no two terms are alike. All members
// compute the same assignment of the shards to those that live. Each shard has a Lease as well, its fence, which names
// its owner's term. A fence is written only when that changes. It holds as long as its owner's Lease has that term.
//
// # How a shard moves
//
//  1. Its owner sees that it is assigned to another: Begin refuses it, and the reconciles that run finish.
//  2. The owner writes the other's term into the fence. Even a write that failed may arrive later. So before the shard
//     comes back to this owner, it must see a newer version of the fence than the one that it gave away.
//  3. The new owner begins when its watch shows the fence with its own term.
//
// An owner that leaves lets its reconciles finish, and then takes the term out of its Lease. If an owner is gone, the
// others wait until they have not seen a renewal for LeaseDuration. Then they take the term out, on condition that the
// Lease was not renewed since. Either way its fences are free: who is to have the shard writes its own term into it.
//
// # Guarantees
//
//   - Two members never reconcile the same shard at a time, if clocks are fast or slow by at most [MaxClockDrift], and
//     nothing of a reconcile happens later than StopWithin after it should be cancelled. What clocks show is not compared.
//   - A member works for [Options.Validity] after it sent a renewal. So one that is cut off has stopped in time. A
//     renewal replaces the version that the member's watch shows. So one whose watch is stuck renews once more at most.
//   - While the server answers, a shard that moves is without work until its owner's reconciles of it have returned, or
//     all its reconciles if the owner leaves. They are cancelled after StopWithin. Then come a few requests of at most
//     RenewEvery each. After a crash, or if a watch stalls, LeaseDuration comes on top; with package follow, a list.
//   - Of n members that become n+1, about 1/(n+1) of the shards move, to the new one; no other fence is written.
//   - Members with different numbers of shards do not work at the same time; see Options.Shards.
//
// # Not guaranteed
//
//   - That a reconcile stops in time if it ignores its context, or its process was paused or its machine suspended. Then
//     only the writes themselves are safe: updates must carry the resourceVersion that was read, deletions the UID,
//     creations a name that is always the same. So a write that was late is answered by 409.
//   - That others get a shard whose reconcile does not return. Ready says so: a liveness probe can end the process.
//   - Anything if others write or delete the group's Leases, or a backup is restored while members run. A member whose
//     Lease is deleted cancels its reconciles and joins anew. Others wait for that, or for LeaseDuration.
//   - That shards are alike in work. The assignment counts members, not load.
//
// Reading order: assign.go, lease.go, decide.go; then renew.go, pin.go, member.go, options.go.
package shards
