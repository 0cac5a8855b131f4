// Package e2e runs the ingress controller, as deploy/ describes it, against a real control plane (tests/controlplane).
//
//	deploy/*.yaml ──applied by admin──▶ kube-apiserver, etcd, garbage collector
//	deploy/Dockerfile's go build ──▶ the program, as a process ──kubeconfig──┘
//	       flags from the Deployment        of the service account
//
// rules_test.go plays every rule; rights_test.go shows that each right is needed, and what happens without it;
// replicas_test.go ends leaders; restart_test.go ends the API server and etcd. A storm (storm_test.go) changes Services and
// Ingresses meanwhile, and at rest every Service must have exactly what it asks for.
//
// A storm's order of changes follows from its seed, which is in the log: go test ./tests/e2e -run TEST -seed N.
//
// # What is not shown
//
// No Pods: there is no kubelet, so the Deployment is only seen to be accepted, its Pod too, by the admission that
// enforces the restricted standard. The image is not built; its build command is run. 429 and 5xx in a row are left to
// controller/ingress, which can have them at will.
package e2e
