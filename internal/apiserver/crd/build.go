package crd

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/version"

	"glasswatch/internal/apiserver/resource"
)

// Build returns one Info per version, by its name. Objects may be stored in versions that are not served. The definition
// must have passed Validate, and is not kept. The error names a version whose schema cannot be used.
func Build(def *apiextensionsv1.CustomResourceDefinition) (map[string]*resource.Info, error) {
	def = def.DeepCopy()
	infos := map[string]*resource.Info{}
	for i := range def.Spec.Versions {
		v := &def.Spec.Versions[i]
		info, err := build(def, v)
		if err != nil {
			return nil, fmt.Errorf("version %s of %s: %w", v.Name, def.Name, err)
		}
		infos[v.Name] = info
	}
	// Schemas that cannot be used merge with every list atomic, as they do without one.
	converter, _ := TypeConverter(infos)
	for _, info := range infos {
		info.Custom.Versions = slices.Sorted(maps.Keys(infos))
		info.Custom.Converter = converter
	}
	return infos, nil
}

// StorageVersion is the name of the version that objects are stored in.
func StorageVersion(def *apiextensionsv1.CustomResourceDefinition) string {
	for _, v := range def.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

func build(def *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) (*resource.Info, error) {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("it has no schema")
	}
	structural, err := Structural(v.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	names := def.Spec.Names
	gv := apischema.GroupVersion{Group: def.Spec.Group, Version: v.Name}
	info := &resource.Info{
		GVR:        gv.WithResource(names.Plural),
		GVK:        gv.WithKind(names.Kind),
		ListKind:   names.ListKind,
		Singular:   names.Singular,
		ShortNames: names.ShortNames,
		Categories: names.Categories,
		Namespaced: def.Spec.Scope == apiextensionsv1.NamespaceScoped,
		Status:     v.Subresources != nil && v.Subresources.Status != nil,
		Generation: true,
		Custom:     custom(structural, v, string(def.UID)),
	}
	if v.Subresources != nil {
		info.Custom.Scale = v.Subresources.Scale
	}
	for _, f := range v.SelectableFields {
		info.Custom.Fields = append(info.Custom.Fields, strings.TrimPrefix(f.JSONPath, "."))
	}
	info.Custom.Deprecation = deprecation(&def.Spec, v)
	info.New, info.NewList = resource.NewUnstructured(info.GVK, info.ListKind)
	return info, nil
}

// deprecation is the warning about a deprecated version: its own, or one that names the newest version in its place.
func deprecation(spec *apiextensionsv1.CustomResourceDefinitionSpec, v *apiextensionsv1.CustomResourceDefinitionVersion) string {
	switch {
	case !v.Deprecated:
		return ""
	case v.DeprecationWarning != nil:
		return *v.DeprecationWarning
	}
	newest := v.Name
	for _, other := range spec.Versions {
		if other.Served && !other.Deprecated && version.CompareKubeAwareVersionStrings(newest, other.Name) < 0 {
			newest = other.Name
		}
	}
	warning := fmt.Sprintf("%s/%s %s is deprecated", spec.Group, v.Name, spec.Names.Kind)
	if newest != v.Name {
		warning += fmt.Sprintf("; use %s/%s %s", spec.Group, newest, spec.Names.Kind)
	}
	return warning
}

func custom(s *schema.Structural, v *apiextensionsv1.CustomResourceDefinitionVersion, uid string) *resource.Custom {
	check := newChecker(s)
	return &resource.Custom{
		Schema:  v.Schema.OpenAPIV3Schema,
		Columns: v.AdditionalPrinterColumns,
		UID:     uid,
		Default: func(obj *unstructured.Unstructured) {
			fill(obj.Object, s)
		},
		Prune: func(obj *unstructured.Unstructured) []string {
			dropped := pruning.PruneWithOptions(obj.Object, s, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
			dropNulls(obj.Object, s)
			return dropped
		},
		Validate: func(obj, old *unstructured.Unstructured) field.ErrorList {
			errs := append(check.check(nil, obj.Object), listtype.ValidateListSetsAndMaps(nil, s, obj.Object)...)
			if v.Subresources != nil && v.Subresources.Scale != nil {
				errs = append(errs, validateReplicas(obj, v.Subresources.Scale.SpecReplicasPath)...)
			}
			if old == nil || len(errs) == 0 {
				return errs
			}
			return ratchet(errs, append(check.check(nil, old.Object), listtype.ValidateListSetsAndMaps(nil, s, old.Object)...))
		},
	}
}

func validateReplicas(obj *unstructured.Unstructured, path string) field.ErrorList {
	n, _, err := unstructured.NestedInt64(obj.Object, strings.Split(strings.TrimPrefix(path, "."), ".")...)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(field.NewPath(path), n, err.Error())}
	case n < 0:
		return field.ErrorList{field.Invalid(field.NewPath(path), n, "should be a non-negative integer")}
	case n > math.MaxInt32:
		return field.ErrorList{field.Invalid(field.NewPath(path), n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))}
	}
	return nil
}

// ratchet accepts values that were invalid before and have not changed. So objects can still be written after a schema
// became stricter.
func ratchet(errs, before field.ErrorList) field.ErrorList {
	known := map[string]bool{}
	for _, err := range before {
		known[err.Error()] = true
	}
	var out field.ErrorList
	for _, err := range errs {
		if err.Type == field.ErrorTypeRequired || !known[err.Error()] {
			out = append(out, err)
		}
	}
	return out
}
