// Package v1alpha1 has the types of the group samplecontroller.k8s.io, as the sample-controller of Kubernetes has them.
//
//	types.go ──go generate ./cmd/...──▶ zz_generated.deepcopy.go
//	                                  ▶ deploy/foo-controller/samplecontroller.k8s.io_foos.yaml, the definition
//
// +kubebuilder:object:generate=true
// +groupName=samplecontroller.k8s.io
package v1alpha1

//go:generate go tool -modfile=../../../../.ci/generate/go.mod controller-gen object crd paths=. output:crd:dir=../../../../deploy/foo-controller
