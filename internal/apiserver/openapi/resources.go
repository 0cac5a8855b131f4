package openapi

import (
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"glasswatch/internal/apiserver/crd"
	"glasswatch/internal/apiserver/resource"
)

// models are the names of the schemas of one resource.
type models struct{ object, list string }

// addResource adds the schemas of a resource's objects and lists.
func (s *schemas) addResource(info *resource.Info) models {
	if info.Custom != nil {
		return s.addCustom(info)
	}
	object := s.add(deref(reflect.TypeOf(info.New())))
	list := s.add(deref(reflect.TypeOf(info.NewList())))
	s.isKind(object, info.GVK)
	s.isKind(list, info.GVK.GroupVersion().WithKind(info.ListKind))
	return models{object, list}
}

// isKind says which kind a schema is. One that is several (as options are, in every group) lists them all.
func (s *schemas) isKind(name string, gvk schema.GroupVersionKind) {
	model := s.byName[name]
	kind := map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
	kinds, _ := model.Extensions["x-kubernetes-group-version-kind"].([]any)
	for _, known := range kinds {
		if reflect.DeepEqual(known, kind) {
			return
		}
	}
	model.AddExtension("x-kubernetes-group-version-kind", append(kinds, kind))
}

// addCustom names the schemas of a custom resource like com.example.v1.Widget.
func (s *schemas) addCustom(info *resource.Info) models {
	metaRef := s.ref(s.add(reflect.TypeFor[metav1.ObjectMeta]()))
	parts := strings.Split(info.GVK.Group, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	object := strings.Join(append(parts, info.GVK.Version, info.GVK.Kind), ".")
	s.byName[object] = crd.WithMeta(s.customSchema(info.Custom.Schema), info.GVK, metaRef.Ref.String())

	list := object + "List"
	items := s.ref(object)
	s.byName[list] = crd.WithMeta(&spec.Schema{SchemaProps: spec.SchemaProps{
		Type: spec.StringOrArray{"object"}, Required: []string{"items"}, Description: info.ListKind + " is a list of " + info.GVK.Kind,
		Properties: map[string]spec.Schema{"items": *spec.ArrayProperty(&items)},
	}}, info.GVK.GroupVersion().WithKind(info.ListKind), "")
	s.byName[list].Properties["metadata"] = s.ref(s.add(reflect.TypeFor[metav1.ListMeta]()))
	return models{object, list}
}

// customSchema is the definition's schema, or any object if that one is not structural. In v2 it keeps its shape only,
// for v2 cannot express the rest.
func (s *schemas) customSchema(props *apiextensionsv1.JSONSchemaProps) *spec.Schema {
	anything := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
	if props == nil {
		return anything
	}
	out, err := crd.OpenAPISchema(props)
	if err != nil {
		return anything
	}
	if s.v2 {
		shapeOnly(out)
	}
	return out
}

func shapeOnly(s *spec.Schema) {
	s.AllOf, s.AnyOf, s.OneOf, s.Not, s.Nullable = nil, nil, nil, nil, false
	for name, property := range s.Properties {
		shapeOnly(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		shapeOnly(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		shapeOnly(s.AdditionalProperties.Schema)
	}
}
