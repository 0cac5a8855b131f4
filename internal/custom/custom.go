// Package custom is what a program needs for a resource of its own. [NewClient] makes a typed client, by client-go's
// generic one instead of one that client-gen generates. [Define] applies the definition.
package custom

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Object is a pointer to O that a client can handle.
type Object[O any] interface {
	*O
	metav1.Object
	runtime.Object
}

// List is a pointer to L that a client can handle.
type List[L any] interface {
	*L
	runtime.Object
}

// NewClient returns a function that makes the client of a namespace, or of all for "". scheme knows both types. cfg is
// not changed.
func NewClient[O, L any, PO Object[O], PL List[L]](
	cfg *rest.Config, scheme *runtime.Scheme, gvr schema.GroupVersionResource,
) (func(namespace string) *gentype.ClientWithList[PO, PL], error) {
	cfg, gv := rest.CopyConfig(cfg), gvr.GroupVersion()
	cfg.GroupVersion, cfg.APIPath = &gv, "/apis"
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	cfg.UserAgent = cmp.Or(cfg.UserAgent, rest.DefaultKubernetesUserAgent())
	connection, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return func(namespace string) *gentype.ClientWithList[PO, PL] {
		codec := runtime.NewParameterCodec(scheme)
		return gentype.NewClientWithList(gvr.Resource, rest.Interface(connection), codec, namespace,
			func() PO { return new(O) }, func() PL { return new(L) })
	}, nil
}

// Define applies a CustomResourceDefinition, as YAML, and returns when its objects are served. It takes the fields as
// `kubectl apply --server-side` does, so that this command may be used on the same file before and after. It also takes
// over what others have set otherwise: the program works only with its own definition.
func Define(ctx context.Context, cfg *rest.Config, definition []byte) error {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(definition, &crd); err != nil {
		return err
	}
	client, err := apiextensions.NewForConfig(cfg)
	if err != nil {
		return err
	}
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	options := metav1.PatchOptions{FieldManager: "kubectl", Force: new(true)}
	if _, err := definitions.Patch(ctx, crd.Name, types.ApplyPatchType, definition, options); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		now, err := definitions.Get(ctx, crd.Name, metav1.GetOptions{})
		return err == nil && apihelpers.IsCRDConditionTrue(now, apiextensionsv1.Established), err
	})
}
