// Package userasks has a script for each feature that users of client-go's informers and queues ask for and do not get.
// Each script runs twice in virtual time. The subtest client-go shows the behaviour of client-go's own code, and the
// subtest glasswatch shows ours. Where client-go has the feature, or a part of it, the script says so.
//
// It is a tour as well. Read the files in this order:
//
//	tombstone_test.go       handlers: no crash on a deletion that was missed
//	backlog_test.go         handlers: a slow one does not eat the process
//	removal_test.go         handlers: removed at once, or after what waits
//	badobject_test.go       one bad object: transforms and index functions that fail
//	transformonce_test.go   a transform sees an object once
//	memory_test.go          transforms that save memory
//	sync_test.go            a sync that cannot succeed says why
//	cancel_test.go          stopping stops
//	restart_test.go         one informer of a factory stops and starts again
//	readyourwrites_test.go  a store that has what was just written
//	merged_test.go          many namespaces and selectors in one store
//	resume_test.go          a start without a list
//	drain_test.go           queues: what a drain waits for
//	delays_test.go          queues: due twice, woken later, cancelled
//	retries_test.go         queues: counters that nobody forgets
//	priority_test.go        queues: the urgent first
//	compat_test.go          what code written for client-go sees of all that
//
// harness_test.go has the API server and the verbs. Both sides talk to the same server (internal/apiserver) over real HTTP on
// in-memory pipes.
package userasks
