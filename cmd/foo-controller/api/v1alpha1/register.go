package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion and Resource are where the API server has Foos.
var (
	SchemeGroupVersion = schema.GroupVersion{Group: "samplecontroller.k8s.io", Version: "v1alpha1"}
	Resource           = SchemeGroupVersion.WithResource("foos")
	Kind               = SchemeGroupVersion.WithKind("Foo")
)

// Scheme knows the Foo, and the options of its requests.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(SchemeGroupVersion, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return s
}
