// Package apiserver is a Kubernetes API server small enough to live in a test or in a demo: it speaks the real wire
// protocol over net/http, keeps everything in memory, and misbehaves on demand.
//
//	client-go, kubectl ──HTTP──▶ route ─▶ request ──get, list, watch──▶ storage: revisions, snapshots, history
//	                                         │                            ▲
//	                                         ├ create, update, delete ────┤
//	                                         ├ patch, apply (patch) ──────┘
//	                                         └ faults: fail, delay, cut, drop, compact
//	                   written ─▶ janitor: garbage by ownerReference, terminating namespaces and definitions
//
// Read in this order: server.go, route.go and request.go; read.go, selection.go and watch.go; create.go, update.go and
// delete.go; janitor.go; faults.go. The sub-packages stand on their own: resource is the vocabulary, storage the database,
// patch, table, openapi and crd are functions over objects.
//
// # Guarantees
//
//   - One revision counter over all resources; each write takes the next one. An update that changes nothing is no write.
//   - A list, with all its pages, shows one moment. A watch delivers every change after its resourceVersion once and in
//     order; with a selector, a change that enters or leaves it is an ADDED or a DELETED. Either answers 410 Expired, with the
//     real server's bodies, once the history no longer reaches back.
//   - A response to a write is sent after the write is visible to every reader. Writers never wait for watchers: a watcher
//     that falls thousands of events behind is cut off, and starts again as after any broken connection.
//   - Errors are Status objects with the code, reason and, for the common ones, the words of a real server: tests/wire asks
//     both the same questions.
//   - Who has been told that a watch began misses nothing that is written from then on.
//   - Everything waits on channels, timers and short-held mutexes, so that with a PipeListener clients and server run in a
//     testing/synctest bubble in virtual time. When Serve returns, its goroutines are gone.
//
// # What is not guaranteed
//
//   - There are no controllers besides the janitor, no scheduler, no kubelet: a Deployment makes no Pods, and a Pod is
//     deleted at once, without a grace period.
//   - Nobody is authenticated and everything is allowed. There is no admission, no quota, no TLS, no compression.
//   - Of subresources there are status (and finalize for namespaces) only: no scale, exec, logs or bindings.
//   - Defaults and validation cover metadata of every kind and what is visible of Services, Ingresses, Pods and workloads;
//     built-in resources are served in their stable version only.
//   - Custom resources have no webhooks, no conversion but of apiVersion, no rules in CEL, and cannot be
//     selected by fields of their own (selectableFields).
//
// # Where client-go differs
//
// client-go's fake clientset answers Go calls without HTTP: no encoding, pages, resourceVersions, 410s, bookmarks or broken
// streams, and therefore nothing to test a reflector against. The real thing in a test (envtest) needs binaries
// of etcd and kube-apiserver, real time, and cannot be told to fail.
package apiserver
