// Package e2e runs the ingress controller, as deploy/ describes it, against a real control plane (tests/check/controlplane).
//
//	deploy/*.yaml ──applied by admin──▶ kube-apiserver, etcd, garbage collector
//	deploy/Dockerfile's go build ──▶ the program, as a process ──kubeconfig──┘
//	       flags from the Deployment        of the service account
//
// rules_test.go plays every rule. rights_test.go shows that each right is needed, and the effect of its absence.
// replicas_test.go ends leaders. restart_test.go ends the API server and etcd. A storm (storm_test.go) changes Services
// and Ingresses meanwhile. When it is over, every Service must have exactly the Ingress that it asks for.
//
// A storm's order of changes follows from its seed, which is in the log: go test -C tests/check ./e2e -run TEST -seed N.
//
// # What is not shown
//
// Pods: there is no kubelet. The Deployment and its Pod are only accepted, by the admission that enforces the
// restricted standard. The image is not built, but its build command is run. Series of 429 and 5xx are tested in
// controller/ingress, where they can be planned.
package e2e
