package crd

import (
	"encoding/json"
	"errors"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// checker holds values against a schema. It is safe for concurrent use.
type checker struct{ validator *validate.SchemaValidator }

func newChecker(s *schema.Structural) checker {
	openapi := s.ToKubeOpenAPI()
	intOrString(openapi)
	return checker{validate.NewSchemaValidator(openapi, nil, "", strfmt.Default)}
}

// intOrString lists, for the validator, the types that x-kubernetes-int-or-string allows.
func intOrString(s *spec.Schema) {
	if either, _ := s.Extensions.GetBool("x-kubernetes-int-or-string"); either {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	for name, property := range s.Properties {
		intOrString(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		intOrString(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		intOrString(s.AdditionalProperties.Schema)
	}
}

func (c checker) check(root *field.Path, value any) field.ErrorList {
	result := c.validator.Validate(value)
	var errs field.ErrorList
	for _, err := range result.Errors {
		errs = append(errs, fieldError(root, err))
	}
	return errs
}

// fieldError translates the validator's error into the API's.
func fieldError(root *field.Path, err error) *field.Error {
	var found *openapierrors.Validation
	if !errors.As(err, &found) {
		return field.Invalid(root, "", err.Error())
	}
	path := root
	if name := strings.TrimPrefix(found.Name, "."); name != "" {
		path = path.Child(name)
	}
	value := found.Value
	if value == nil {
		value = ""
	}
	switch found.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(path, "")
	case openapierrors.EnumFailCode:
		return field.NotSupported(path, found.Value, enum(found.Values))
	case openapierrors.TooLongFailCode:
		return field.TooLong(path, "", int(number(found.Valid)))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		return field.TooMany(path, int(number(found.Value)), int(number(found.Valid)))
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(path, value, err.Error())
	}
	return field.Invalid(path, value, err.Error())
}

func enum(values []any) []string {
	var out []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
			continue
		}
		b, _ := json.Marshal(v) // an enum came from JSON
		out = append(out, string(b))
	}
	return out
}

// number is -1, which means unknown to the field errors, unless v is one.
func number(v any) int64 {
	if n, ok := v.(int64); ok {
		return n
	}
	return -1
}
