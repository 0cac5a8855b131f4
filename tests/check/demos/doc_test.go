// Package demos runs the numbered demos as people do, as programs, on a real control plane.
//
//	go build ./cmd/NN-name ──▶ NN-name --kubeconfig … ──▶ bin/controlplane (tests/check/controlplane)
//	                             │ exit code, output           │ namespaces and definitions that are left: none
//	                             └──────────── test ───────────┘
//
// The golden file beside each of them has its output in process, word by word. Here each of them runs on an API server
// that it does not control, and must leave nothing behind, even when it is interrupted.
//
// Without bin/controlplane the tests are skipped, and say how to get it.
package demos
