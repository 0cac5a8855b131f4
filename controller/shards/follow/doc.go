// Package follow lets informers follow the shards that a member holds: each member lists and watches its own share.
//
//	member ─ OnChange ─▶ Group ─┬─▶ Services:  one watch, of all ranges that are held ─▶ store ─▶ handlers ─▶ queue
//	                            └─▶ Ingresses: likewise
//	                       │
//	                       └─ OnListed: the keys of these shards can be reconciled. Enqueue them.
//
// # When shards come and go
//
//  1. The watch of Leases shows the member that a fence names it. Nobody else works under that fence any more.
//  2. A list of the shard's objects begins, at the newest version that the server has. So it has all that the former
//     owner wrote before it let go.
//  3. When the stores of all kinds have their lists, the shard is listed. [Group.Begin] refuses it before.
//  4. OnListed says so. Keys that came too early were dropped, so all keys of the shard must be enqueued then.
//  5. When a shard is lost, Begin refuses it at once. Its objects leave the store, and keys that wait are dropped
//     when it is their turn.
//
// A shard that was lost and is got again is listed again, although a watch may still show it: another member may have
// written meanwhile, and that watch may be late.
//
// Shards that are gained get a source of their own, which lists these only. If shards were lost, or there are
// more than maxSources, one list of all that is held takes the place of all sources. So a member that others lose
// nothing to lists what is new, and one that loses shards lists what it keeps.
//
// # One watch with many ranges, not many watches
//
// The server passes each event of a kind to the filter of each watch of that kind. A filter hashes the object once and
// compares the hash with one range after the other. In the real server's filter, an event that no range selects costs:
//
//	ranges                      8        41       64       256
//	one watch with all          0.3 µs   0.9 µs   1.5 µs   4.2 µs
//	as many watches with one    3.2 µs   18 µs    23 µs    140 µs
//
// (BenchmarkRanges, two busy cores; connections and goroutines of the watches come on top.) 41 ranges are what a fifth
// of 256 shards has. A selector has at most [MaxRanges], 6.7 kB of an URL, because proxies often bound a URL at 8 kB.
//
// # Guarantees
//
//   - Begin succeeds only for a shard that is held and listed, in the lists of all kinds.
//   - A store has no object of a shard that was not asked for, whether or not the server knows shards.
//   - One watch a kind while nothing changes, for each [MaxRanges] ranges that are held. One of two members with 256
//     shards has some 65 ranges, and so two watches; one of three or more has one. During a change, at most twice maxSources.
//
// # Not guaranteed
//
//   - That a member that cannot list gives its shards up. It keeps them as long as it renews its Lease, is not ready,
//     and tries again: [Group.Ready] has the error. Others would most likely be refused as well.
//   - That shards are alike in size. With [shard.Namespace], a namespace cannot be divided: one with most of the
//     objects makes one member do most of the work. Nor does the server's hash spread names that differ in the last
//     two letters only: team-000 to team-199 fall into 2 of 256 shards, 000-team to 199-team into 150.
//     [Group.Largest] shows it. UIDs are spread evenly.
//   - Children in the same shard as their owner, unless both are divided by namespace. A kind that is watched whole is
//     not the Group's: see controller/ingress.
//
// Reading order: group.go, cover.go, kind.go.
package follow
