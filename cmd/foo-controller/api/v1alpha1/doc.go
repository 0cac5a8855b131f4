// Package v1alpha1 has the types of the group samplecontroller.k8s.io, as the sample-controller of Kubernetes has them.
//
// The deepcopy functions and the definition are generated from the markers in types.go. The definition is made twice: for
// kubectl in deploy/foo-controller, and here for programs that install it themselves.
//
//	go generate ./cmd/foo-controller/...
//
// +kubebuilder:object:generate=true
// +groupName=samplecontroller.k8s.io
package v1alpha1

//go:generate go tool -modfile=../../../../.ci/tools/go.mod controller-gen object crd paths=. output:crd:dir=../../../../deploy/foo-controller
//go:generate go tool -modfile=../../../../.ci/tools/go.mod controller-gen crd paths=. output:crd:dir=.
