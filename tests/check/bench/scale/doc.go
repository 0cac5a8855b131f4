// Command scale measures informers on a million objects: one process that holds them all, and five that share them by
// shards, all at once.
//
//	go run ./scale                        a million objects, 2,000 changes a second, three rounds; needs about 10 GiB
//	go run ./scale -n 100000 -rounds 1    smaller
//	go run ./scale -write                 the tables of docs/results/scale.md, and bench.out/scale.txt, from an idle machine
//
//	   this program                                 the same program, a process each
//	┌──────────────┐  fill, load, rest, state ┌────────────┐ streaming list  ┌──────────────────┐
//	│ campaign     │─────────────────────────▶│ API server │────────────────▶│ member 1 … 5:    │
//	│ report       │                          │ in memory  │ shardSelector   │ informer, handler│
//	└──────┬───────┘                          └────────────┘◀────────────────└────────┬─────────┘
//	       └───── orders: ready, sync, usage, state, hold ▶ ◀ answers, a line of JSON ┘
//
// Read population.go and server.go for the objects and their changes; subject.go and member.go for what is measured;
// campaign.go, crew.go and child.go for the order of things; figures.go and page.go for the tables.
//
// # What is shown
//
//   - The objects are ConfigMaps with one label and one entry of data. It is the smallest kind that client-go has
//     types and protobuf for, and that has nothing besides its own content. They have no managedFields.
//   - The changes go on while the processes sync. One in twenty deletes an object and makes it anew. It then has
//     another UID, and so may belong to another shard.
//   - At the end the changes stop. The processes of a setup must hold together just what the server holds: each
//     object once, in its last version. Otherwise the run fails.
//   - An object's own size is measured: the live heap of a process that has decoded all of them and holds them in a
//     slice, without the slice. For glasswatch, which shares equal parts, the objects of that process share them, too.
//     What the decoder remembers counts as the informer's.
//     Nothing changes while it decodes them, so its time to sync is not to be compared with an informer's.
//   - Live heap is what a collection leaves, less what it was before the start. RSS and peak are the whole process's. RSS
//     is close to the peak: the runtime gives memory back slowly.
//   - Five members have exactly a fifth of the hashes each. Of 256 shards, five members that rendezvous hashing chooses
//     have more or less: the largest 0.23 on average.
//   - Bytes are those that the process reads from its connections.
//
// # What is not
//
//   - Requests: the changes are made inside of the server. As requests they would cost more than what is measured.
//   - A real server: that in memory encodes each event for each watch. A real one encodes an event once, and keeps
//     the objects in etcd as well.
//   - Compression, TLS and a network.
package main
