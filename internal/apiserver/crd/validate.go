package crd

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
)

// Default fills in what a definition may leave out: the singular name, the kind of lists, and no conversion.
func Default(def *apiextensionsv1.CustomResourceDefinition) {
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(def)
}

// Validate checks a defaulted definition. old is the stored one on an update, nil on a creation.
func Validate(def, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	spec, path := &def.Spec, field.NewPath("spec")
	if def.Name != spec.Names.Plural+"."+spec.Group {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), def.Name, `must be spec.names.plural+"."+spec.group`))
	}
	switch {
	case spec.Group == "":
		errs = append(errs, field.Required(path.Child("group"), ""))
	case len(validation.IsDNS1123Subdomain(spec.Group)) > 0:
		errs = append(errs, field.Invalid(path.Child("group"), spec.Group, strings.Join(validation.IsDNS1123Subdomain(spec.Group), ",")))
	case !strings.Contains(spec.Group, "."):
		errs = append(errs, field.Invalid(path.Child("group"), spec.Group, "should be a domain with at least one dot"))
	}
	scopes := []apiextensionsv1.ResourceScope{apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped}
	if spec.Scope == "" {
		errs = append(errs, field.Required(path.Child("scope"), ""))
	} else if !slices.Contains(scopes, spec.Scope) {
		errs = append(errs, field.NotSupported(path.Child("scope"), spec.Scope, scopes))
	}
	errs = append(errs, validateNames(&spec.Names, path.Child("names"))...)
	errs = append(errs, validateVersions(spec, path)...)
	if c := spec.Conversion; c != nil && c.Strategy != apiextensionsv1.NoneConverter {
		errs = append(errs, field.NotSupported(path.Child("conversion", "strategy"), c.Strategy, []apiextensionsv1.ConversionStrategyType{apiextensionsv1.NoneConverter}))
	}
	if old != nil {
		errs = append(errs, validateChange(def, old, path)...)
	}
	return append(errs, validateApproval(def, old)...)
}

func validateNames(names *apiextensionsv1.CustomResourceDefinitionNames, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	label := func(at *field.Path, value, compared, hint string) {
		if value == "" {
			errs = append(errs, field.Required(at, ""))
		} else if problems := validation.IsDNS1035Label(compared); len(problems) > 0 {
			errs = append(errs, field.Invalid(at, value, hint+strings.Join(problems, ",")))
		}
	}
	const mixed = "may have mixed case, but should otherwise match: "
	label(path.Child("plural"), names.Plural, names.Plural, "")
	label(path.Child("singular"), names.Singular, names.Singular, "")
	label(path.Child("kind"), names.Kind, strings.ToLower(names.Kind), mixed)
	label(path.Child("listKind"), names.ListKind, strings.ToLower(names.ListKind), mixed)
	for i, name := range names.ShortNames {
		label(path.Child("shortNames").Index(i), name, name, "")
	}
	for i, name := range names.Categories {
		label(path.Child("categories").Index(i), name, name, "")
	}
	if names.Kind != "" && names.Kind == names.ListKind {
		errs = append(errs, field.Invalid(path.Child("listKind"), names.ListKind, "kind and listKind may not be the same"))
	}
	return errs
}

func validateVersions(spec *apiextensionsv1.CustomResourceDefinitionSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var names []string
	stored := 0
	for i := range spec.Versions {
		v, at := &spec.Versions[i], path.Child("versions").Index(i)
		if problems := validation.IsDNS1035Label(v.Name); len(problems) > 0 {
			errs = append(errs, field.Invalid(at.Child("name"), v.Name, strings.Join(problems, ",")))
		}
		if slices.Contains(names, v.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), v.Name))
		}
		names = append(names, v.Name)
		if v.Storage {
			stored++
		}
		errs = append(errs, validateSchema(v.Schema, at.Child("schema", "openAPIV3Schema"))...)
		for j, c := range v.AdditionalPrinterColumns {
			errs = append(errs, validateColumn(c, at.Child("additionalPrinterColumns").Index(j))...)
		}
	}
	if stored != 1 {
		errs = append(errs, field.Invalid(path.Child("versions"), names, "must have exactly one version marked as storage version"))
	}
	if spec.PreserveUnknownFields {
		errs = append(errs, field.Invalid(path.Child("preserveUnknownFields"), true, "must be false in order to use defaults in the schema; use x-kubernetes-preserve-unknown-fields in the schema instead"))
	}
	return errs
}

func validateSchema(v *apiextensionsv1.CustomResourceValidation, path *field.Path) field.ErrorList {
	if v == nil || v.OpenAPIV3Schema == nil {
		return field.ErrorList{field.Required(path, "schemas are required")}
	}
	s, err := Structural(v.OpenAPIV3Schema)
	if err != nil {
		return field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	errs := schema.ValidateStructural(path, s)
	if len(errs) > 0 {
		return errs
	}
	errs = append(errs, refuseRules(s, path)...)
	return append(errs, validateDefaults(s, path)...)
}

// refuseRules refuses rules in CEL, which this server cannot enforce.
func refuseRules(s *schema.Structural, path *field.Path) (errs field.ErrorList) {
	visit(s, path, func(s *schema.Structural, path *field.Path) {
		if len(s.XValidations) > 0 {
			errs = append(errs, field.Forbidden(path.Child("x-kubernetes-validations"), "this server evaluates no rules in CEL"))
		}
	})
	return errs
}

// validateDefaults checks each default against the schema that gives it.
func validateDefaults(s *schema.Structural, path *field.Path) (errs field.ErrorList) {
	visit(s, path, func(s *schema.Structural, path *field.Path) {
		if s.Default.Object != nil {
			errs = append(errs, newChecker(s).check(path.Child("default"), s.Default.Object)...)
		}
	})
	return errs
}

// visit calls f with a schema and all schemas inside it, in a fixed order.
func visit(s *schema.Structural, path *field.Path, f func(*schema.Structural, *field.Path)) {
	if s == nil {
		return
	}
	f(s, path)
	visit(s.Items, path.Child("items"), f)
	if s.AdditionalProperties != nil {
		visit(s.AdditionalProperties.Structural, path.Child("additionalProperties"), f)
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		property := s.Properties[name]
		visit(&property, path.Child("properties").Key(name), f)
	}
}

func validateColumn(c apiextensionsv1.CustomResourceColumnDefinition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	types := []string{"boolean", "date", "integer", "number", "string"}
	if c.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if c.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "must be one of "+strings.Join(types, ",")))
	} else if !slices.Contains(types, c.Type) {
		errs = append(errs, field.NotSupported(path.Child("type"), c.Type, types))
	}
	switch {
	case c.JSONPath == "":
		errs = append(errs, field.Required(path.Child("jsonPath"), ""))
	case strings.ContainsAny(c.JSONPath, "{}"):
		errs = append(errs, field.Invalid(path.Child("jsonPath"), c.JSONPath, "must be a simple json path, without braces"))
	default:
		if err := jsonpath.New("").Parse("{" + c.JSONPath + "}"); err != nil {
			errs = append(errs, field.Invalid(path.Child("jsonPath"), c.JSONPath, fmt.Sprintf("must be a simple json path: %v", err)))
		}
	}
	return errs
}

// validateChange keeps stored objects readable: the versions in which they were stored must still exist.
func validateChange(def, old *apiextensionsv1.CustomResourceDefinition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, c := range []struct {
		at       *field.Path
		now, was string
	}{
		{path.Child("group"), def.Spec.Group, old.Spec.Group},
		{path.Child("scope"), string(def.Spec.Scope), string(old.Spec.Scope)},
		{path.Child("names", "plural"), def.Spec.Names.Plural, old.Spec.Names.Plural},
		{path.Child("names", "kind"), def.Spec.Names.Kind, old.Spec.Names.Kind},
	} {
		if c.now != c.was && (Established(old) || c.at.String() == "spec.group") {
			errs = append(errs, field.Invalid(c.at, c.now, "field is immutable"))
		}
	}
	for i, stored := range def.Status.StoredVersions {
		there := slices.ContainsFunc(def.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == stored })
		if !there {
			errs = append(errs, field.Invalid(field.NewPath("status", "storedVersions").Index(i), stored, "missing from spec.versions"))
		}
	}
	return errs
}
