package v1

import (
	_ "embed"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The names of the API.
var (
	GroupVersion = schema.GroupVersion{Group: "cloudmanagercontroller.huayun.com", Version: "v1"}
	Kind         = GroupVersion.WithKind("CloudManager")
	Resource     = GroupVersion.WithResource("cloudmanagers")
)

// Definition is the CustomResourceDefinition, as YAML.
//
//go:embed cloudmanagercontroller.huayun.com_cloudmanagers.yaml
var Definition []byte

// Scheme knows this package's types and nothing else.
var Scheme = runtime.NewScheme()

func init() { _ = AddToScheme(Scheme) }

// AddToScheme makes a scheme know this package's types. The error is always nil.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &CloudManager{}, &CloudManagerList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
