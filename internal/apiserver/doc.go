// Package apiserver is a small Kubernetes API server for tests and demos. It speaks the real wire protocol over
// net/http, keeps everything in memory, and injects faults on demand.
//
//	client-go, kubectl ──HTTP──▶ route ─▶ request ──get, list, watch──▶ storage: revisions, snapshots, history
//	                                         │                            ▲
//	                                         ├ create, update, delete ────┤
//	                                         ├ patch, apply (patch) ──────┘
//	                                         └ faults: fail, delay, cut, drop, compact
//	                   written ─▶ janitor: garbage by ownerReference, terminating namespaces and definitions
//
// Read in this order: server.go, route.go and request.go; read.go, selection.go and watch.go; create.go, update.go and
// delete.go; janitor.go; faults.go. The sub-packages can be read alone: resource has the types, storage the database;
// patch, table, openapi and crd are functions over objects.
//
// # Guarantees
//
//   - All resources share one revision counter, and each write takes the next number. An update that changes nothing is
//     not a write.
//   - A list, with all its pages, shows one moment. A watch delivers every change after its resourceVersion once and in
//     order. With a selector, an object that begins or ceases to match is an ADDED or a DELETED. Both answer 410
//     Expired, with the real server's bodies, if the history does not reach back far enough.
//   - A response to a write is sent after the write is visible to every reader. Writers never wait for watchers. A
//     watcher that falls thousands of events behind is disconnected, and starts again as after any broken connection.
//   - Errors are Status objects with the code and reason of a real server, and for common ones with its words.
//     tests/check/wire sends the same requests to both.
//   - A client that got the header of a watch gets every later write.
//   - All waiting is on channels, timers and mutexes that are held for a short time. So with a PipeListener clients and
//     server run in a testing/synctest bubble, in virtual time. When Serve returns, its goroutines have ended.
//
// # What is not guaranteed
//
//   - There are no controllers besides the janitor, no scheduler and no kubelet. A Deployment makes no Pods, and a Pod
//     is deleted at once, without a grace period, unless [Options.PodGrace] is set.
//   - There is no authentication, and everything is allowed. There is no admission, no quota, no TLS, no compression.
//   - Of subresources there are status, scale for custom resources, and finalize for namespaces: no scale of built-in
//     kinds, no exec, logs or bindings. So a Pod's spec.nodeName may be set once by an update.
//   - Defaults cover Services, workloads and their templates of Pods. Validation covers metadata of every kind, the main
//     fields of Services, Ingresses, Pods and workloads, and what of these, of claims, bindings and classes is immutable.
//     Built-in resources are served in their stable version only.
//   - Custom resources have no webhooks, no conversion but of apiVersion, and no rules in CEL. When their definition
//     changes, their watches end, but the history of events stays.
//
// # Where client-go differs
//
// client-go's fake clientset answers Go calls without HTTP. It has no encoding, pages, resourceVersions, 410s,
// bookmarks or broken streams, so it cannot test a reflector. The real server in a test (envtest) needs binaries of
// etcd and kube-apiserver, and real time, and does not fail on demand.
package apiserver
