// Package controlplane runs a real control plane for tests: etcd, the upstream kube-apiserver, and the upstream
// controllers that collect garbage and empty terminating namespaces.
//
//	test ──Start──▶ bin/controlplane (one process) ──▶ a temporary directory: data, certificate, tokens, kubeconfigs
//	       StartSplit ▶ etcd │ API server and controllers: either is killed, and started again on its port and data
//	       StartGated ▶ the API server with feature gates that are off by default
//
// The program is a module of its own (build/), so that the main module has few dependencies. `make controlplane` builds
// it, in about five minutes the first time. `go run -C tests/check ./controlplane/up` runs it for people.
//
// # Guarantees
//
//   - Every Plane has ports, a certificate, tokens and a directory of its own. All of it is removed when the test ends,
//     even if the test's process is killed. The kernel gives its ports to no other process, even while no process
//     listens there.
//   - Start returns when /readyz of the API server says yes.
//
// # What is not there
//
//   - Systems where sockets cannot share a port, such as Windows: it does not work there. It is tried on Linux only.
//   - No scheduler, no kubelet, no other controllers: a Deployment makes no Pods, a namespace gets no ServiceAccount.
//   - Nothing is flushed to the disk; a machine that is switched off loses the data.
package controlplane
