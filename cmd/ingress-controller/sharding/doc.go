// Package sharding has the flags with which all replicas of the ingress controller work, each on its shards.
//
//	--shards, --shard-by, --shard-identity ─▶ Flags.New ─▶ controller/ingress/sharded
//	                                             └▶ mode: the Lease of the election, which all replicas hold together
//
// # One mode at a time
//
// In the Lease of the election, all replicas with shards are one candidate, which names the field that they divide by.
// They hold it together. So a leader and replicas with shards never work at the same time. Nor do replicas that divide
// by different fields. A rolling update from one to the other needs no more: a replica of the new kind waits until the
// last of the old kind has gone. A replica with shards does not give the Lease up, because others may work under it.
// After the last one it runs out.
//
// Between replicas with shards, package shards decides. It also settles a changed number of shards.
//
// # What is guaranteed
//
//   - All replicas write, each on its shards, and none while there is a leader.
//   - A replica that cannot renew its Leases stops its work in time, runs on, and works again when it can.
//   - Whatever somebody has written into the Lease, it is taken once it has run out. What makes no sense in it counts as
//     missing, and this replica's own value takes its place.
//
// Reading order: flags.go, mode.go.
package sharding
