// Package wire checks that internal/apiserver speaks the Kubernetes API as a real kube-apiserver does.
//
//	                    ┌─▶ internal/apiserver, in process
//	table of checks ──HTTP
//	                    └─▶ kube-apiserver with etcd and its garbage collector (tests/controlplane)
//
// A check is a claim about the protocol: a few requests over plain HTTP and what has to come back. It does not know which of
// the two servers it talks to. A check that only one of them passes is a defect of ours, or a wrong check.
//
// Read harness_test.go and stream_test.go first, then any file of the table: each check stands on its own, in a
// namespace of its own, and all run side by side on one server.
//
// # What is shown
//
//   - Status codes, reasons, details and, where clients read them, messages; the shape and order of what is listed and watched;
//     what writing does to metadata. Names, uids, times and versions are the server's own.
//   - That the checks look: TestWire_FindsAlteredServers runs them against servers that are wrong in one thing each, and names
//     the checks that have to fail.
//
// # What is not shown
//
//   - Authentication, authorization and admission: internal/apiserver has none.
//   - What takes a real server minutes, such as a watch that nobody bounds, or periodic bookmarks.
package wire
