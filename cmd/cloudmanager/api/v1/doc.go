// Package v1 is the API of the CloudManager: cloudmanagers.cloudmanagercontroller.huayun.com, version v1.
//
// What a schema can say is in the schema. Rules across fields are not: they would need CEL, which the API server in
// memory does not have. So Validate of cmd/cloudmanager/desired checks them, and the status reports them.
//
// deepcopy and definition are made from the markers in types.go by go generate ./cmd/cloudmanager/... The definition is
// made twice: in deploy/cloudmanager for kubectl, and here for programs that install it themselves.
//
// +kubebuilder:object:generate=true
// +groupName=cloudmanagercontroller.huayun.com
package v1

//go:generate go tool -modfile=../../../../.ci/tools/go.mod controller-gen object crd paths=. output:crd:dir=../../../../deploy/cloudmanager
//go:generate go tool -modfile=../../../../.ci/tools/go.mod controller-gen crd paths=. output:crd:dir=.
