// Package client is the typed client for Foos. It takes the place of what client-gen would generate: client-go's gentype
// has every verb as a generic method, and the clientset that client-gen writes does nothing but name them.
package client

import (
	"context"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
)

// Foos has Create, Update, UpdateStatus, Delete, DeleteCollection, Get, List, Watch and Patch of one namespace's Foos.
type Foos = gentype.ClientWithList[*v1alpha1.Foo, *v1alpha1.FooList]

// New returns a function that makes the client of a namespace, or of all for "". It leaves cfg as it is.
func New(cfg *rest.Config) (func(namespace string) *Foos, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.GroupVersion, cfg.APIPath = &v1alpha1.GroupVersion, "/apis"
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(v1alpha1.Scheme).WithoutConversion()
	connection, err := rest.RESTClientFor(cfg)
	return func(namespace string) *Foos {
		return gentype.NewClientWithList(v1alpha1.Resource.Resource, rest.Interface(connection), runtime.NewParameterCodec(v1alpha1.Scheme),
			namespace, func() *v1alpha1.Foo { return &v1alpha1.Foo{} }, func() *v1alpha1.FooList { return &v1alpha1.FooList{} })
	}, err
}

// Define applies the definition, and returns when Foos are served.
func Define(ctx context.Context, cfg *rest.Config) error {
	client, err := apiextensions.NewForConfig(cfg)
	if err != nil {
		return err
	}
	definitions, name := client.ApiextensionsV1().CustomResourceDefinitions(), v1alpha1.Resource.GroupResource().String()
	options := metav1.PatchOptions{FieldManager: "kubectl", Force: new(true)}
	if _, err := definitions.Patch(ctx, name, types.ApplyPatchType, v1alpha1.Definition, options); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		definition, err := definitions.Get(ctx, name, metav1.GetOptions{})
		return err == nil && apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established), err
	})
}
