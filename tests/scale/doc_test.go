// Package scale plays seeded schedules of faults to whole groups of controller/shards' members, the same code that
// runs in a cluster, and judges them by the requests that reach the server.
//
//	member ──▶ link ──▶ API server in memory: Leases
//	workers ─▶   │  └─▶ ledger: cells, each of which one reconcile reads, touches for a while, and writes
//	             └ latency, lost requests and answers, partitions, stalled watches, writes held past the Lease
//
// Everything lives in a bubble of virtual time. Replicas have clocks that are right, fast or slow. Reconciles that are
// cancelled take as long as they may, and their last request arrives just in time. After each step of a schedule:
//
//   - no two processes worked on one cell: between the first and the last request of a reconcile no other's arrived,
//     unless the network held the last one back for longer than a Lease, and then it was refused;
//   - no cell was without work for longer than the step's bound (steps_test.go);
//   - each fence names whom Assign names, and each cell is worked on, within three Leases after the last fault;
//   - of a member that joined or left, exactly its shards were written, and they were a fair share.
//
// # Running
//
//	go test ./tests/scale                                      1,000 schedules of up to ten members, one of a hundred
//	go test ./tests/scale -v -run 'TestScale$' -scale.seed=7   one of them, step by step; a failure prints this line
//	GLASSWATCH_MUTANTS=1 go test ./tests/scale -run ScaleMutants    broken assignments, fences and deadlines
//
// A seed determines the members, the steps and what links do to requests, in their order. It does not determine the
// order of goroutines that can run at the same moment of virtual time, the jitter of backoffs, and nonces. A failure
// that depends on one of those may take a few runs to come again: -count=20.
package scale
