package crd

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
)

// The functions of this file walk a value and its schema together. Fields that the schema does not know stay as they
// are.

// inside is the schema of a field, or nil.
func inside(s *schema.Structural, name string) *schema.Structural {
	if property, ok := s.Properties[name]; ok {
		return &property
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// dropNulls removes nulls where the schema allows none and has no default. A client that writes "replicas: null" wants
// to leave the field out.
func dropNulls(value any, s *schema.Structural) {
	if s == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			property := inside(s, name)
			if v == nil && property != nil && !property.Nullable && property.Default.Object == nil {
				delete(value, name)
				continue
			}
			dropNulls(v, property)
		}
	case []any:
		for _, v := range value {
			dropNulls(v, s.Items)
		}
	}
}

// fill puts in defaults from the outside in, so that the default of a field is itself completed by those of its own fields.
func fill(value any, s *schema.Structural) {
	if s == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if v, there := value[name]; property.Default.Object != nil && (!there || (v == nil && !property.Nullable)) {
				value[name] = runtime.DeepCopyJSONValue(property.Default.Object)
			}
		}
		for name, v := range value {
			property := inside(s, name)
			if v == nil && property != nil && !property.Nullable && property.Default.Object != nil {
				value[name] = runtime.DeepCopyJSONValue(property.Default.Object)
			}
			fill(value[name], property)
		}
	case []any:
		for i, v := range value {
			if v == nil && s.Items != nil && !s.Items.Nullable && s.Items.Default.Object != nil {
				value[i] = runtime.DeepCopyJSONValue(s.Items.Default.Object)
			}
			fill(value[i], s.Items)
		}
	}
}
