// Command 10-customresource defines a kind while its informers run: one without a Go type, and one with a type of this file.
package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"glasswatch/cmd/internal/demo"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/factory"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "10-customresource", Title: "A kind of one's own, with and without a Go type",
	Layer: "sharedinformer/factory/informers.go", Next: "docs/learn/tour.md, chapter 8", Tell: demo.Steps(tell, convert)}

// Garden is the kind as a Go type. For a scheme it has to know its kind, and how to copy itself.
type Garden struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              GardenSpec `json:"spec"`
}

// GardenSpec holds values only, so that an assignment copies it.
type GardenSpec struct {
	Trees int64  `json:"trees"`
	Soil  string `json:"soil"`
}

func (g *Garden) DeepCopyObject() runtime.Object {
	copied := *g
	g.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// definition is of cluster scope. Its group contains the name of the demo's namespace, so that it conflicts with no
// other kind.
func definition(gvr schema.GroupVersionResource) *apiextensionsv1.CustomResourceDefinition {
	properties := map[string]apiextensionsv1.JSONSchemaProps{
		"trees": {Type: "integer", Minimum: new(float64(1))},
		"soil":  {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"loam"`)}},
	}
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"trees"}, Properties: properties}
	garden := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}}
	version := apiextensionsv1.CustomResourceDefinitionVersion{Name: gvr.Version, Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &garden}}
	meta := metav1.ObjectMeta{Name: gvr.GroupResource().String()}
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: meta, Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: gvr.Group, Scope: apiextensionsv1.NamespaceScoped,
		Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: gvr.Resource, Kind: "Garden"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
	}}
}

func tell(ctx context.Context, d *demo.Demo) {
	d.Step("A factory runs, and is asked for a kind that is not there")
	gvr := schema.GroupVersionResource{Group: d.Namespace + ".example.com", Version: "v1", Resource: "gardens"}
	kinds := runtime.NewScheme()
	kinds.AddKnownTypeWithName(gvr.GroupVersion().WithKind("Garden"), &Garden{})
	f := factory.New(d.Config, factory.Options{Namespace: d.Namespace, Scheme: kinds,
		// by default from 0.8 seconds to a minute
		Reflector: reflector.Options{Backoff: reflector.Backoff{Base: 100 * time.Millisecond, Factor: 1}}})
	d.Go(ctx, func(ctx context.Context) { <-ctx.Done(); f.Shutdown() })
	maps := demo.Must(factory.InformerFor[*corev1.ConfigMap](f))
	f.Start(ctx)
	demo.Check(f.WaitForSync(ctx))
	d.Saw("%s: synced %t", maps.Name(), maps.HasSynced())
	untyped := demo.Must(f.ForResource(gvr))
	some := demo.NewHandler[listwatch.Object](ctx)
	demo.Must(untyped.AddHandler(some, sharedinformer.HandlerOptions{}))
	f.Start(ctx) // starts what came since
	demo.Until(ctx, "the informer is refused", func() bool { return untyped.LastError() != nil })
	d.Saw("%s: synced %t, the last error %s", untyped.Name(), untyped.HasSynced(), apierrors.ReasonForError(untyped.LastError()))
	d.Why("it goes on asking: it does not matter who comes first, the definition or the informer")

	d.Step("A CustomResourceDefinition")
	definitions := demo.Must(apiextensions.NewForConfig(d.Config)).ApiextensionsV1().CustomResourceDefinitions()
	name := gvr.GroupResource().String()
	d.Cleanup(func(ctx context.Context) error {
		return demo.Gone(definitions.Delete(ctx, name, metav1.DeleteOptions{}))
	})
	demo.Must(definitions.Create(ctx, definition(gvr), metav1.CreateOptions{}))
	demo.Until(ctx, "it is established", func() bool {
		return apihelpers.IsCRDConditionTrue(demo.Must(definitions.Get(ctx, name, metav1.GetOptions{})), apiextensionsv1.Established)
	})
	demo.Check(untyped.WaitForSync(ctx))
	d.Saw("%s is established; %s: synced %t", name, untyped.Name(), untyped.HasSynced())

	d.Step("Objects without a Go type")
	gardens := demo.Must(dynamic.NewForConfig(d.Config)).Resource(gvr).Namespace(d.Namespace)
	create := func(name string, spec map[string]any) error {
		garden := map[string]any{"apiVersion": gvr.GroupVersion().String(), "kind": "Garden",
			"metadata": map[string]any{"name": name}, "spec": spec}
		_, err := gardens.Create(ctx, &unstructured.Unstructured{Object: garden}, metav1.CreateOptions{})
		return err
	}
	demo.Check(create("eden", map[string]any{"trees": int64(2), "snakes": int64(1)}))
	told := some.Take(1)
	eden := demo.Must(untyped.Lister().Namespace(d.Namespace).Get("eden")).(*unstructured.Unstructured)
	d.Saw("%s: %T, spec %v", told, eden, eden.Object["spec"])
	d.Saw("%v", create("bare", map[string]any{"trees": int64(0)}))
	d.Why("the schema fills in, takes away what it does not know, and refuses")

	d.Step("Objects with a Go type: another informer, on the same objects")
	typed := demo.Must(factory.InformerFor[*Garden](f))
	same := demo.NewHandler[*Garden](ctx)
	demo.Must(typed.AddHandler(same, sharedinformer.HandlerOptions{}))
	f.Start(ctx)
	told = same.Take(1)
	garden := demo.Must(typed.Lister().Namespace(d.Namespace).Get("eden"))
	d.Saw("%s: %T, spec %+v", told, garden, garden.Spec)
	d.Did("planted a tree")
	demo.Must(gardens.Patch(ctx, "eden", types.MergePatchType, []byte(`{"spec":{"trees":3}}`), metav1.PatchOptions{}))
	d.Saw("untyped: %s; typed: %s; %s", some.Take(1), same.Take(1), d.Watches())
	d.Why("a watch each. With a type the compiler finds a misspelt field; without one a program serves kinds it has never heard of")

	d.Step("The definition goes, and its objects with it")
	demo.Check(definitions.Delete(ctx, name, metav1.DeleteOptions{}))
	d.Saw("untyped: %s; typed: %s", some.Take(1), same.Take(1))
}
