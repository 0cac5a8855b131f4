// Package client is the typed client for Foos. It takes the place of what client-gen would generate: client-go's gentype
// has every verb as a generic method, and the client-set that client-gen writes does nothing but call it.
package client

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
)

// Foos has Create, Update, UpdateStatus, Delete, DeleteCollection, Get, List, Watch and Patch, typed.
type Foos = gentype.ClientWithList[*v1alpha1.Foo, *v1alpha1.FooList]

// New returns a function that returns the client of one namespace, or of all for "".
func New(cfg *rest.Config) (func(namespace string) *Foos, error) {
	cfg = rest.CopyConfig(cfg)
	scheme := v1alpha1.Scheme()
	cfg.GroupVersion, cfg.APIPath = &v1alpha1.SchemeGroupVersion, "/apis"
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	cfg.ContentType, cfg.AcceptContentTypes = "", "" // custom resources are served as JSON, not as protobuf
	rc, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return func(namespace string) *Foos {
		return gentype.NewClientWithList("foos", rest.Interface(rc), runtime.NewParameterCodec(scheme), namespace,
			func() *v1alpha1.Foo { return &v1alpha1.Foo{} }, func() *v1alpha1.FooList { return &v1alpha1.FooList{} })
	}, nil
}
