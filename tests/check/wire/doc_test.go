// Package wire checks that internal/apiserver speaks the Kubernetes API as a real kube-apiserver does.
//
//	                    ┌─▶ internal/apiserver, in process
//	table of checks ──HTTP
//	                    └─▶ kube-apiserver with etcd and its garbage collector (tests/check/controlplane)
//
// A check is a claim about the protocol: a few requests over plain HTTP and the expected answers. It is the same for
// both servers. If only one server passes a check, either our server or the check is wrong.
//
// Read harness_test.go and stream_test.go first, then any file of the table. Each check is independent, in a namespace
// of its own, and all run concurrently on one server, but for those that delete namespaces: they come last.
//
// # What is shown
//
//   - Status codes, reasons, details and, where clients read them, messages; the shape and order of lists and watches;
//     the changes of metadata by writes. Names, uids, times and versions may differ.
//   - The checks find faults: TestWire_FindsAlteredServers runs them against servers with one fault each, and names the
//     checks that have to fail.
//
// # What is not shown
//
//   - Authentication, authorization and admission: internal/apiserver has none.
//   - Behaviour that takes a real server minutes, such as a watch without a timeout, or periodic bookmarks.
package wire
