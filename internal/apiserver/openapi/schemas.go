package openapi

import (
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// schemas collects the schemas of Go types, by the names under which they refer to each other.
type schemas struct {
	byName map[string]*spec.Schema
	v2     bool // OpenAPI v2 knows neither oneOf nor a $ref inside allOf
}

func newSchemas(v2 bool) *schemas { return &schemas{byName: map[string]*spec.Schema{}, v2: v2} }

// These types have Go fields that do not match their JSON form.
var opaque = map[reflect.Type]string{
	reflect.TypeFor[runtime.RawExtension](): "object",
	reflect.TypeFor[metav1.FieldsV1]():      "object",
	reflect.TypeFor[runtime.Unknown]():      "object",
	reflect.TypeFor[apiextensionsv1.JSON](): "",
}

func (s *schemas) ref(name string) spec.Schema {
	if s.v2 {
		return *spec.RefSchema("#/definitions/" + name)
	}
	return *spec.RefSchema("#/components/schemas/" + name)
}

// add makes sure that a struct type and all that it refers to are there, and returns its name.
func (s *schemas) add(t reflect.Type) string {
	name := modelName(t)
	if _, ok := s.byName[name]; ok {
		return name
	}
	schema := &spec.Schema{}
	s.byName[name] = schema // before its fields, which may lead back to it
	schema.Description = docs(t)[""]
	if special := s.special(t, schema); special {
		return name
	}
	schema.Type = spec.StringOrArray{"object"}
	schema.Properties = map[string]spec.Schema{}
	s.fields(t, schema)
	return name
}

// special fills in the schema of a type that encodes itself.
func (s *schemas) special(t reflect.Type, schema *spec.Schema) bool {
	if kind, ok := opaque[t]; ok {
		if kind != "" {
			schema.Type = spec.StringOrArray{kind}
		}
		return true
	}
	typed, ok := reflect.Zero(t).Interface().(interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	})
	if !ok {
		return false
	}
	schema.Type, schema.Format = typed.OpenAPISchemaType(), typed.OpenAPISchemaFormat()
	if several, ok := typed.(interface{ OpenAPIV3OneOfTypes() []string }); ok && !s.v2 {
		schema.Type = nil
		for _, kind := range several.OpenAPIV3OneOfTypes() {
			schema.OneOf = append(schema.OneOf, spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{kind}}})
		}
	}
	return true
}

func (s *schemas) fields(t reflect.Type, into *spec.Schema) {
	described := docs(t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if strings.Contains(options, "inline") || (f.Anonymous && name == "") {
			s.fields(deref(f.Type), into)
			continue
		}
		property := s.decorate(s.value(f.Type), described[name], f.Tag)
		into.Properties[name] = property
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			into.Required = append(into.Required, name)
		}
	}
}

// decorate adds what belongs to the field rather than to its type. OpenAPI v3 ignores the neighbours of a $ref, hence allOf.
func (s *schemas) decorate(property spec.Schema, description string, tag reflect.StructTag) spec.Schema {
	if property.Ref.String() != "" && !s.v2 && (description != "" || tag.Get("patchStrategy") != "") {
		property = spec.Schema{SchemaProps: spec.SchemaProps{AllOf: []spec.Schema{property}}}
	}
	property.Description = description
	if strategy := tag.Get("patchStrategy"); strategy != "" {
		property.AddExtension("x-kubernetes-patch-strategy", strategy)
	}
	if key := tag.Get("patchMergeKey"); key != "" {
		property.AddExtension("x-kubernetes-patch-merge-key", key)
	}
	return property
}

// value is the schema of a field's type: spelled out for what JSON has, a reference for structs.
func (s *schemas) value(t reflect.Type) spec.Schema {
	t = deref(t)
	switch t.Kind() {
	case reflect.Struct:
		return s.ref(s.add(t))
	case reflect.String:
		return *spec.StringProperty()
	case reflect.Bool:
		return *spec.BooleanProperty()
	case reflect.Int32, reflect.Int16, reflect.Int8, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return *spec.Int32Property()
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64:
		return *spec.Int64Property()
	case reflect.Float32, reflect.Float64:
		return *spec.Float64Property()
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return *spec.StrFmtProperty("byte")
		}
		items := s.value(t.Elem())
		return *spec.ArrayProperty(&items)
	case reflect.Map:
		values := s.value(t.Elem())
		return *spec.MapProperty(&values)
	}
	return spec.Schema{} // an interface: anything
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// docs are the comments of a type's fields; "" is that of the type itself.
func docs(t reflect.Type) map[string]string {
	if documented, ok := reflect.Zero(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return documented.SwaggerDoc()
	}
	return nil
}

// modelName is io.k8s.api.core.v1.Service: the name the type gives itself, else its import path with the host reversed.
func modelName(t reflect.Type) string {
	if named, ok := reflect.Zero(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	parts := strings.Split(host, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(append(parts, strings.Split(path, "/")...), ".") + "." + t.Name()
}
