package crd

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"glasswatch/internal/apiserver/resource"
)

// Structural reads a schema as a structural one: every value has a type, and allOf, anyOf, oneOf and not add nothing to
// the shape. The error names the place where that is not so.
func Structural(props *apiextensionsv1.JSONSchemaProps) (*schema.Structural, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, err
	}
	return schema.NewStructural(internal)
}

// OpenAPISchema turns a schema into one that kube-openapi and structured-merge-diff read, with the vendor extensions
// (x-kubernetes-list-type and so on). It lacks apiVersion, kind and metadata: see WithMeta.
func OpenAPISchema(props *apiextensionsv1.JSONSchemaProps) (*spec.Schema, error) {
	structural, err := Structural(props)
	if err != nil {
		return nil, err
	}
	return structural.ToKubeOpenAPI(), nil
}

// ObjectMetaName is the name under which schemas refer to metav1.ObjectMeta.
var ObjectMetaName = metav1.ObjectMeta{}.OpenAPIModelName()

// WithMeta adds what every object has: apiVersion, kind and metadata, and says which kind it is.
func WithMeta(s *spec.Schema, gvk apischema.GroupVersionKind, metaRef string) *spec.Schema {
	out := *s
	out.Properties = map[string]spec.Schema{}
	for name, property := range s.Properties {
		out.Properties[name] = property
	}
	docs := metav1.TypeMeta{}.SwaggerDoc()
	out.Properties["apiVersion"] = *spec.StringProperty().WithDescription(docs["apiVersion"])
	out.Properties["kind"] = *spec.StringProperty().WithDescription(docs["kind"])
	out.Properties["metadata"] = *spec.RefSchema(metaRef)
	out.Extensions = spec.Extensions{}
	for name, value := range s.Extensions {
		out.Extensions[name] = value
	}
	out.Extensions["x-kubernetes-group-version-kind"] = []any{
		map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind},
	}
	return &out
}

// TypeConverter returns the merge schema of a custom resource for server-side apply, in all of its versions: managers may
// own fields of each. Lists merge as x-kubernetes-list-type says.
func TypeConverter(versions map[string]*resource.Info) (managedfields.TypeConverter, error) {
	models := map[string]*spec.Schema{ObjectMetaName: objectMeta()}
	for _, info := range versions {
		s, err := OpenAPISchema(info.Custom.Schema)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s.%s.%s", info.GVK.Group, info.GVK.Version, info.GVK.Kind)
		models[name] = WithMeta(s, info.GVK, "#/definitions/"+ObjectMetaName)
	}
	return managedfields.NewTypeConverter(models, false)
}

// objectMeta is the part of metav1.ObjectMeta that merging needs: which lists merge, and by which key.
func objectMeta() *spec.Schema {
	str := *spec.StringProperty()
	owner := (&spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{
		"apiVersion": str, "kind": str, "name": str, "uid": str,
		"controller": *spec.BooleanProperty(), "blockOwnerDeletion": *spec.BooleanProperty(),
	}}})
	owner.AddExtension("x-kubernetes-map-type", "atomic")
	owners := spec.ArrayProperty(owner)
	owners.AddExtension("x-kubernetes-list-type", "map")
	owners.AddExtension("x-kubernetes-list-map-keys", []any{"uid"})
	finalizers := spec.ArrayProperty(&str)
	finalizers.AddExtension("x-kubernetes-list-type", "set")
	anything := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
	anything.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	managed := spec.ArrayProperty(anything)
	managed.AddExtension("x-kubernetes-list-type", "atomic")
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{
		"name": str, "generateName": str, "namespace": str, "selfLink": str, "uid": str, "resourceVersion": str,
		"generation":                 *spec.Int64Property(),
		"creationTimestamp":          str,
		"deletionTimestamp":          str,
		"deletionGracePeriodSeconds": *spec.Int64Property(),
		"labels":                     *spec.MapProperty(&str),
		"annotations":                *spec.MapProperty(&str),
		"ownerReferences":            *owners,
		"finalizers":                 *finalizers,
		"managedFields":              *managed,
	}}}
}
