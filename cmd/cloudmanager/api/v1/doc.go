// Package v1 is the API of the CloudManager: cloudmanagers.cloudmanagercontroller.huayun.com, version v1.
//
// What a schema can say is in the schema. Rules across fields are not: they would need CEL, which the API server in
// memory does not have. So [glasswatch/cmd/cloudmanager/desired.Validate] checks them, and the status reports them.
//
// deepcopy and CRD are generated from the markers in types.go:
//
//	go generate ./cmd/cloudmanager/...
//
// +kubebuilder:object:generate=true
// +groupName=cloudmanagercontroller.huayun.com
package v1

//go:generate go tool -modfile=../../../../.ci/generate/go.mod controller-gen object paths=. crd output:crd:dir=../../../../deploy/cloudmanager
