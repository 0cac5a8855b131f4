package v1

import (
	_ "embed"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package's types.
var GroupVersion = schema.GroupVersion{Group: "cloudmanagercontroller.huayun.com", Version: "v1"}

// Kind and Resource of a CloudManager.
var (
	Kind     = GroupVersion.WithKind("CloudManager")
	Resource = GroupVersion.WithResource("cloudmanagers")
)

// Definition is the CustomResourceDefinition, as YAML.
//
//go:embed cloudmanagercontroller.huayun.com_cloudmanagers.yaml
var Definition []byte

// Scheme knows this package's types and nothing else.
var Scheme = runtime.NewScheme()

func init() {
	if err := AddToScheme(Scheme); err != nil {
		panic(err)
	}
}

// AddToScheme makes a scheme know this package's types.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &CloudManager{}, &CloudManagerList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
