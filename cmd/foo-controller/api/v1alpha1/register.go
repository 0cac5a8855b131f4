package v1alpha1

import (
	_ "embed"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion, Resource and Kind of a Foo.
var (
	GroupVersion = schema.GroupVersion{Group: "samplecontroller.k8s.io", Version: "v1alpha1"}
	Resource     = GroupVersion.WithResource("foos")
	Kind         = GroupVersion.WithKind("Foo")
)

// Definition is the CustomResourceDefinition, as YAML.
//
//go:embed samplecontroller.k8s.io_foos.yaml
var Definition []byte

// Scheme knows the Foo, and the options of its requests.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(GroupVersion, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return s
}
