// Package follow lets informers follow the shards that a member holds: each member lists and watches its own share. It
// is for the users of package shards whose caches are too big for one process; a learner may skip it.
//
//	member ─ OnChange ─▶ Group ─┬─▶ Services:  some sources, a watch each ─▶ store ─▶ handlers ─▶ queue
//	                            └─▶ Ingresses: likewise
//	                       │
//	                       └─ OnListed: the keys of these shards can be reconciled. Enqueue them.
//
// # A shard that is gained
//
//  1. The watch of Leases shows the member that a fence names it. Nobody else works under that fence any more.
//  2. A source for it is added to each kind, and begins with a list. That is as new as the server itself, so it has all
//     that the former owner wrote before it let go.
//  3. When the stores of all kinds have their lists, the shard is listed. [Group.Begin] refuses it before.
//  4. OnListed says so. Keys that came too early were dropped, so all keys of the shard must be enqueued then.
//
// All that a change brings is listed at once, in one source. When there are maxSources already, the smallest one's
// shards are listed with it. That source reads on until the new one has read as far, and then goes. Its shards stay
// listed meanwhile, and handlers hear nothing of it.
//
// # A shard that is lost
//
//  1. Begin refuses it at once. Reconciles that run go on, and may find that objects have left the store.
//  2. The source's watch ends, and another one with fewer ranges begins at the same version. There is no list.
//  3. Handlers are told that the shard's objects are deleted. Here that means that they have left the store. Keys that
//     wait are dropped when it is their turn.
//
// A shard that was lost and is got again is listed again, although a watch may still show it: another member may have
// written meanwhile, and that watch may be late. It is not listed before all that the store had of it has gone.
//
// A loss does list if the source has an object that the store does not show: another source has one of the same key, or
// Transform refuses it.
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
// of 256 shards has. A selector has at most [MaxRanges], 6.7 kB of a URL, because proxies often bound a URL at 8 kB. It
// has none too many later either: a source gets only so many shards that what is left of it fits, whatever it loses. A
// member with all of 256 shards has two sources.
//
// # Guarantees
//
//   - Begin succeeds only for a shard that is held and listed, in the lists of all kinds.
//   - A store has no object of a shard that was not asked for, whether or not the server knows shards.
//   - A shard that is kept loses no event and no object while others come and go, nor does one come back.
//   - A gain lists what is new, and what the smallest source has if there are maxSources: a quarter of the shards that
//     are held at most. If there are more, it lists so many of the smallest that maxSources are left.
//   - So a kind has at most maxSources watches. If one selector cannot have all its shards, it may have one more for
//     each further one; and if one cannot have what is new, as many more until the next gain, which joins them. During a
//     change, old and new watches run side by side.
//
// # Not guaranteed
//
//   - That a member that cannot list gives its shards up. It keeps them as long as it renews its Lease, is not ready,
//     and tries again: [Group.Ready] has the error. Others would most likely be refused as well.
//   - That what is not in the store is not there: a reconcile that has begun may have lost its shard meanwhile. Whoever
//     cleans up after an object that is gone must ask the server, or ask Listed after the store.
//   - That a change overtakes an earlier one. A list that takes long keeps the next one waiting, and
//     so does a watch that cannot be had or is late. Begin knows of a loss at once all the same. If a backup sets the
//     server back while a source is replaced, that may wait until the server has come as far again.
//   - That shards are alike in size. With [shard.Namespace], a namespace cannot be divided: one with most of the
//     objects makes one member do most of the work. Nor does the server's hash spread names that differ in the last
//     two letters only: team-000 to team-199 fall into 2 of 256 shards, 000-team to 199-team into 150.
//     [Group.Largest] shows it. UIDs are spread evenly.
//   - Children in the same shard as their owner, unless both are divided by namespace, or a label names the owner's
//     shard: see [AddLabelled]. A kind that is watched whole is not the Group's.
//
// Reading order: group.go, cover.go, informer.go, feed.go.
package follow
