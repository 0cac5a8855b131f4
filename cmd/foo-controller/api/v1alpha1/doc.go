// Package v1alpha1 has the types of the group samplecontroller.k8s.io, as the sample-controller of Kubernetes has them.
//
//	types.go ──go generate ./cmd/foo-controller/...──▶ zz_generated.deepcopy.go
//	                                                 ▶ the definition: for kubectl in deploy/foo-controller, and here for
//	                                                   programs that install it themselves
//
// +kubebuilder:object:generate=true
// +groupName=samplecontroller.k8s.io
package v1alpha1

//go:generate go tool -modfile=../../../../.ci/generate/go.mod controller-gen object crd paths=. output:crd:dir=../../../../deploy/foo-controller
//go:generate go tool -modfile=../../../../.ci/generate/go.mod controller-gen crd paths=. output:crd:dir=.
