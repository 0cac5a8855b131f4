// Package demos runs the numbered demos as people do, as programs, on a real control plane.
//
//	go build ./cmd/NN-name ──▶ NN-name --kubeconfig … ──▶ bin/controlplane (tests/controlplane)
//	                             │ exit code, output           │ namespaces and definitions that are left: none
//	                             └──────────── test ───────────┘
//
// What they print in process, word by word, is held by the golden file beside each of them. Here it is shown that each of
// them gets on with an API server that it has no say over, and leaves nothing behind, also when it is interrupted.
//
// Without bin/controlplane the tests are skipped, and say how to get it.
package demos
