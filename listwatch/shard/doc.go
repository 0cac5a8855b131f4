// Package shard divides objects by a hash: which of them belong to a shard, and the shardSelector that asks an API
// server for these only. It imports no other package of this project.
//
//	object ─▶ Field: UID or Namespace ─▶ Hash, 64 bits ─▶ Index: the shard, 0 … n-1
//
//	hashes      0x0000…                                     0xffff…
//	Of(i, 4)    ├─ shard 0 ─┼─ shard 1 ─┼─ shard 2 ─┼─ shard 3 ─┤
//	Merge       [───────────────────────]           [───────────]     of the shards 0, 1 and 3
//
// # What is guaranteed
//
//   - The hash is the server's: FNV-1a of the field's bytes. The syntax of a selector is the server's, too.
//   - The n shards have no gap and no overlap. Their sizes differ by at most one hash. Of and Index agree.
//   - [Parse] and [Selector.String] undo each other. Parse refuses what the server answers with an error, and ranges
//     that overlap, which the server accepts.
//   - The zero [Selector] selects everything. One with a field and without ranges selects nothing. Parse and the server
//     refuse its String, so that nothing is never taken for everything.
//
// # What is not
//
//   - Parse knows no parentheses, comments and double quotes, which the server's parser takes.
//   - Objects of one namespace cannot be divided by [Namespace]. Objects of cluster scope all have the same: none.
package shard
