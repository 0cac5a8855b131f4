// Package scale plays seeded schedules of faults to whole groups of controller/shards' members, the same code that
// runs in a cluster, and judges them by the requests that reach the server.
//
//	member ──▶ link ──▶ API server in memory: Leases, ConfigMaps ──▶ register: who was named when, and why
//	workers ─▶   │  └─▶ ledger: cells, each of which one reconcile reads, touches for a while, and writes
//	             └ latency, lost requests and answers, partitions, stalled watches, writes held past the Lease
//
// Everything lives in a bubble of virtual time. Replicas have clocks that are right, fast or slow. Reconciles that are
// cancelled take as long as they may, and their last request arrives just in time. In each step of a schedule:
//
//   - no two processes work on one cell: between the first and the last request of a reconcile no other's arrives. A
//     write that the network held back for longer than a Lease is refused, or that of the reconcile which has read the
//     version that it replaced;
//   - no cell is without work for longer than the step's bound, nor for longer than another one once the fault is over
//     (steps_test.go);
//   - only those members get another term to which the step did something, and a shard moves only if one of its two
//     owners has come or gone, never twice the same way. Of one that joins or leaves a fair share moves, each shard
//     once;
//   - within three Leases after the fault each fence names whom Assign names, and each cell is worked on.
//
// Where members have informers that follow their shards (package follow), then also:
//
//   - no reconcile begins unless the store has what the server had of the shard when the shard was got;
//   - within the same three Leases each object is in one store, in its last version, and its shard is listed there.
//
// # Running
//
//	go test ./tests/scale                                      17 schedules of ten members, one of them with informers
//	go test ./tests/scale -scale.schedules=1000                1,100, and four of up to a hundred members: what make check does
//	go test ./tests/scale -v -run 'TestScale$' -scale.seed=7   one of them, step by step; a failure prints this line
//
// With broken assignments, fences, deadlines and stores, each caught, in tests/check:
//
//	GLASSWATCH_MUTANTS=1 go test ./scale -v -run ScaleMutants
//
// A seed determines the members, the steps and what links do to requests, in their order. It does not determine the
// order of goroutines that can run at the same moment of virtual time, the jitter of backoffs, and nonces. A failure
// that depends on one of those may take a few runs to come again: -count=20.
//
// What is not in it: a process that is suspended and runs on, and a server that was set back. Of informers that follow,
// not how large lists are.
package scale
