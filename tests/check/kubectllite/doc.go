// Package kubectllite gives the same inputs to cmd/kubectl-lite and to the upstream kubectl, on our API server and on a
// real one (tests/check/controlplane).
//
//	input ─┬─▶ kubectl-lite apply -f …                                  ─▶ namespace 1 ─┐ stdout, stderr, exit status,
//	       └─▶ kubectl apply --server-side --field-manager=kubectl-lite ─▶ namespace 2 ─┴ objects on the server: equal
//
// [meant] is the whole list of differences in words. Nothing else may differ, between the programs or between the
// servers.
//
// Without kubectl or bin/controlplane the tests are skipped, and say how to get them.
package kubectllite
