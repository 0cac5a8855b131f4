package crd_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"glasswatch/internal/apiserver/crd"
	"glasswatch/internal/apiserver/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const widgets = `
metadata: {name: widgets.example.com, uid: u1}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, maximum: 9}
              color: {type: string, default: red, enum: [red, green], nullable: false}
              note: {type: string, maxLength: 5, pattern: '^[a-z]*$'}
              maybe: {type: string, nullable: true, default: x}
              port: {x-kubernetes-int-or-string: true}
              tags: {type: array, maxItems: 2, items: {type: string}, x-kubernetes-list-type: set}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              options:
                type: object
                default: {}
                properties: {level: {type: string, default: low}}
              named: {type: object, additionalProperties: {type: object, properties: {a: {type: string, default: b}}}}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port]
                items:
                  type: object
                  required: [port]
                  properties: {port: {type: integer}, protocol: {type: string, default: TCP}}
          status: {type: object, properties: {ready: {type: boolean}}}
  - name: v1alpha1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v0
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object}}
`

// definition returns the widgets' definition after edit.
func definition(t testing.TB, edit ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	def := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(widgets), def))
	crd.Default(def)
	for _, e := range edit {
		e(def)
	}
	return def
}

func object(t testing.TB, doc string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	j, err := yaml.YAMLToJSON([]byte(doc))
	require.NoError(t, err)
	require.NoError(t, u.UnmarshalJSON(j))
	return u
}

func widget(t testing.TB, spec string) *unstructured.Unstructured {
	return object(t, "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: "+spec)
}

func build(t testing.TB) *resource.Info {
	t.Helper()
	infos, err := crd.Build(definition(t))
	require.NoError(t, err)
	return infos["v1"]
}

func messages(errs field.ErrorList) []string {
	out := []string{}
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}

func TestDefault_NamesAndConversion(t *testing.T) {
	def := definition(t)
	require.Equal(t, "widget", def.Spec.Names.Singular)
	require.Equal(t, "WidgetList", def.Spec.Names.ListKind)
	require.Equal(t, apiextensionsv1.NoneConverter, def.Spec.Conversion.Strategy)
	require.Empty(t, crd.Validate(def, nil))
}

func TestValidate_RefusesDefinitionsWithAPathAndAReason(t *testing.T) {
	type def = *apiextensionsv1.CustomResourceDefinition
	root := func(d def) *apiextensionsv1.JSONSchemaProps { return d.Spec.Versions[0].Schema.OpenAPIV3Schema }
	for name, tc := range map[string]struct {
		edit func(d def)
		want []string
	}{
		"name":           {func(d def) { d.Name = "x" }, []string{`metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group`}},
		"no scope":       {func(d def) { d.Spec.Scope = "" }, []string{`spec.scope: Required value`}},
		"bad scope":      {func(d def) { d.Spec.Scope = "Moon" }, []string{`spec.scope: Unsupported value: "Moon": supported values: "Cluster", "Namespaced"`}},
		"group":          {func(d def) { d.Spec.Group, d.Name = "core", "widgets.core" }, []string{`spec.group: Invalid value: "core": should be a domain with at least one dot`}},
		"no group":       {func(d def) { d.Spec.Group, d.Name = "", "widgets." }, []string{`spec.group: Required value`}},
		"no kind":        {func(d def) { d.Spec.Names.Kind = "" }, []string{`spec.names.kind: Required value`}},
		"list kind":      {func(d def) { d.Spec.Names.ListKind = "Widget" }, []string{`spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same`}},
		"no storage":     {func(d def) { d.Spec.Versions[0].Storage = false }, []string{`spec.versions: Invalid value: ["v1","v1alpha1","v0"]: must have exactly one version marked as storage version`}},
		"two storages":   {func(d def) { d.Spec.Versions[1].Storage = true }, []string{`spec.versions: Invalid value: ["v1","v1alpha1","v0"]: must have exactly one version marked as storage version`}},
		"same version":   {func(d def) { d.Spec.Versions[1].Name = "v1" }, []string{`spec.versions[1].name: Duplicate value: "v1"`}},
		"no schema":      {func(d def) { d.Spec.Versions[0].Schema = nil }, []string{`spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required`}},
		"root type":      {func(d def) { root(d).Type = "string" }, []string{`spec.versions[0].schema.openAPIV3Schema.type: Invalid value: "string": must be object at the root`}},
		"not structural": {func(d def) { root(d).Properties["x"] = apiextensionsv1.JSONSchemaProps{} }, []string{`spec.versions[0].schema.openAPIV3Schema.properties[x].type: Required value: must not be empty for specified object fields`}},
		"reference":      {func(d def) { r := "#/x"; root(d).Ref = &r }, []string{`spec.versions[0].schema.openAPIV3Schema: Invalid value: "": OpenAPIV3Schema '$ref' is not supported`}},
		"bad default": {func(d def) {
			root(d).Properties["x"] = apiextensionsv1.JSONSchemaProps{Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte(`"one"`)}}
		}, []string{`spec.versions[0].schema.openAPIV3Schema.properties[x].default: Invalid value: "string":  in body must be of type integer: "string"`}},
		"rules":       {func(d def) { root(d).XValidations = apiextensionsv1.ValidationRules{{Rule: "true"}} }, []string{`spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations: Forbidden: this server evaluates no rules in CEL`}},
		"webhook":     {func(d def) { d.Spec.Conversion.Strategy = "Webhook" }, []string{`spec.conversion.strategy: Unsupported value: "Webhook": supported values: "None"`}},
		"preserve":    {func(d def) { d.Spec.PreserveUnknownFields = true }, []string{`spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema; use x-kubernetes-preserve-unknown-fields in the schema instead`}},
		"column type": {func(d def) { d.Spec.Versions[0].AdditionalPrinterColumns[0].Type = "x" }, []string{`spec.versions[0].additionalPrinterColumns[0].type: Unsupported value: "x": supported values: "boolean", "date", "integer", "number", "string"`}},
		"column without": {func(d def) {
			d.Spec.Versions[0].AdditionalPrinterColumns[0] = apiextensionsv1.CustomResourceColumnDefinition{Type: "date"}
		}, []string{`spec.versions[0].additionalPrinterColumns[0].name: Required value`, `spec.versions[0].additionalPrinterColumns[0].jsonPath: Required value`}},
		"column of a range": {func(d def) { d.Spec.Versions[0].AdditionalPrinterColumns[0].JSONPath = ".a}{.b" }, []string{`spec.versions[0].additionalPrinterColumns[0].jsonPath: Invalid value: ".a}{.b": must be a simple json path, without braces`}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, messages(crd.Validate(definition(t, tc.edit), nil)))
		})
	}
}

func TestValidate_NamesMustBeLabels(t *testing.T) {
	got := messages(crd.Validate(definition(t, func(d *apiextensionsv1.CustomResourceDefinition) {
		d.Spec.Names.Kind, d.Spec.Names.ShortNames = "Wid_get", []string{"W"}
	}), nil))
	require.Len(t, got, 2)
	require.Contains(t, got[0], `spec.names.kind: Invalid value: "Wid_get": may have mixed case, but should otherwise match: a DNS-1035 label`)
	require.Contains(t, got[1], `spec.names.shortNames[0]: Invalid value: "W": a DNS-1035 label`)
}

func TestValidate_AnEstablishedDefinitionKeepsItsIdentityAndItsStoredVersions(t *testing.T) {
	old := definition(t)
	crd.Accept(old, nil)
	changed := old.DeepCopy()
	changed.Spec.Scope, changed.Spec.Names.Kind = "Cluster", "Gadget"
	changed.Spec.Versions = changed.Spec.Versions[1:]
	changed.Spec.Versions[0].Storage = true
	require.Equal(t, []string{
		`spec.scope: Invalid value: "Cluster": field is immutable`, `spec.names.kind: Invalid value: "Gadget": field is immutable`,
		`status.storedVersions[0]: Invalid value: "v1": missing from spec.versions`,
	}, messages(crd.Validate(changed, old)))
}

func TestAccept_GrantsFreeNamesAndEstablishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def := definition(t)
		require.True(t, crd.Accept(def, nil))
		require.True(t, crd.Established(def))
		require.Equal(t, def.Spec.Names, def.Status.AcceptedNames)
		require.Equal(t, []string{"v1"}, def.Status.StoredVersions)
		require.Equal(t, "v1", crd.StorageVersion(def))
		require.Equal(t, []string{"NamesAccepted=True NoConflicts no conflicts found", "Established=True InitialNamesAccepted the initial names have been accepted"}, conditions(def))

		first := def.Status.Conditions[0].LastTransitionTime
		<-time.After(time.Hour)
		require.False(t, crd.Accept(def, []*apiextensionsv1.CustomResourceDefinition{def}), "its own names are no conflict")
		require.Equal(t, first, def.Status.Conditions[0].LastTransitionTime)

		// Another definition of the group wants the same kind: it is refused until the first releases it.
		rival := definition(t, func(d *apiextensionsv1.CustomResourceDefinition) {
			d.Name, d.Spec.Names.Plural, d.Spec.Names.Singular, d.Spec.Names.ShortNames = "wodgets.example.com", "wodgets", "wodget", []string{"wd"}
		})
		require.True(t, crd.Accept(rival, []*apiextensionsv1.CustomResourceDefinition{def}))
		require.False(t, crd.Established(rival))
		require.Equal(t, []string{`NamesAccepted=False ListKindConflict "WidgetList" is already in use`, "Established=False NotAccepted not all names are accepted"}, conditions(rival))
		require.Equal(t, "wodgets", rival.Status.AcceptedNames.Plural)
		require.Empty(t, rival.Status.AcceptedNames.ShortNames)

		// Another reason for the same refusal is no transition.
		since := rival.Status.Conditions[0].LastTransitionTime
		<-time.After(time.Hour)
		rival.Spec.Names.ListKind = "WodgetList"
		require.True(t, crd.Accept(rival, []*apiextensionsv1.CustomResourceDefinition{def}))
		require.Contains(t, conditions(rival)[0], `NamesAccepted=False KindConflict "Widget" is already in use`)
		require.Equal(t, since, rival.Status.Conditions[0].LastTransitionTime)
		require.True(t, crd.Accept(rival, nil))
		require.True(t, crd.Established(rival))

		// What is established stays so, even if a later wish is refused.
		def.Spec.Names.ShortNames = []string{"wd", "wodget"}
		require.True(t, crd.Accept(def, []*apiextensionsv1.CustomResourceDefinition{rival}))
		require.True(t, crd.Established(def))
		require.Equal(t, []string{"wd"}, def.Status.AcceptedNames.ShortNames)
		require.Contains(t, conditions(def)[0], `False ShortNamesConflict "wodget" is already in use`)

		// Its own names are free for it to shuffle.
		stored := def.DeepCopy()
		def.Spec.Names.Singular, def.Spec.Names.ShortNames = "wid", []string{"widget"}
		require.True(t, crd.Accept(def, []*apiextensionsv1.CustomResourceDefinition{stored}))
		require.Equal(t, []string{"widget"}, def.Status.AcceptedNames.ShortNames)
	})
}

func conditions(def *apiextensionsv1.CustomResourceDefinition) []string {
	var out []string
	for _, c := range def.Status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s %s %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return out
}

func TestBuild_OneInfoPerVersion(t *testing.T) {
	def := definition(t)
	infos, err := crd.Build(def)
	require.NoError(t, err)
	require.Len(t, infos, 3)
	v1, v1alpha1 := infos["v1"], infos["v1alpha1"]
	require.Equal(t, "example.com/v1, Resource=widgets", v1.GVR.String())
	require.Equal(t, "example.com/v1, Kind=Widget", v1.GVK.String())
	require.Equal(t, "WidgetList widget [wd] [all] true true true\n", fmt.Sprintln(v1.ListKind, v1.Singular, v1.ShortNames, v1.Categories, v1.Namespaced, v1.Status, v1.Generation))
	require.False(t, v1alpha1.Status)
	require.Equal(t, "u1", v1.Custom.UID)
	require.Equal(t, []string{"v0", "v1", "v1alpha1"}, v1.Custom.Versions)
	require.Equal(t, "Size", v1.Custom.Columns[0].Name)
	require.Equal(t, "Widget", v1.New().GetObjectKind().GroupVersionKind().Kind)
	require.Equal(t, "WidgetList", v1.NewList().GetObjectKind().GroupVersionKind().Kind)

	def.Spec.Versions[0].AdditionalPrinterColumns[0].Name = "changed"
	require.Equal(t, "Size", v1.Custom.Columns[0].Name, "the definition is not kept")

	_, err = crd.Build(definition(t, func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[1].Schema = nil }))
	require.EqualError(t, err, "version v1alpha1 of widgets.example.com: it has no schema")
}

func TestCustom_PrunesWhatTheSchemaLacks(t *testing.T) {
	u := widget(t, `{size: 1, bogus: 2, free: {any: thing}, ports: [{port: 1, nam: x}]}`)
	u.Object["extra"] = "x"
	require.Equal(t, []string{"extra", "spec.bogus", "spec.ports[0].nam"}, build(t).Custom.Prune(u))
	require.Equal(t, widget(t, `{size: 1, free: {any: thing}, ports: [{port: 1}]}`), u)
	require.Empty(t, build(t).Custom.Prune(u))
	u = widget(t, `{size: null, maybe: null, color: null}`)
	require.Empty(t, build(t).Custom.Prune(u))
	require.Equal(t, widget(t, `{maybe: null, color: null}`), u, "nulls go where they are not allowed, and no default comes")

	infos, err := crd.Build(definition(t))
	require.NoError(t, err)
	u.Object["extra"] = "x"
	require.Empty(t, infos["v1alpha1"].Custom.Prune(u), "this version preserves unknown fields")
}

func TestCustom_DefaultsFromTheOutsideIn(t *testing.T) {
	u := widget(t, `{size: null, color: null, maybe: null, named: {k: {}, l: null}, ports: [{port: 1}, {port: 2, protocol: UDP}]}`)
	build(t).Custom.Prune(u)
	build(t).Custom.Default(u)
	require.Equal(t, widget(t, `{color: red, maybe: null, options: {level: low}, named: {k: {a: b}}, ports: [{port: 1, protocol: TCP}, {port: 2, protocol: UDP}]}`), u)

	// Two objects never share a default.
	a, b := widget(t, `{size: 1}`), widget(t, `{size: 1}`)
	info := build(t)
	info.Custom.Default(a)
	info.Custom.Default(b)
	require.NoError(t, unstructured.SetNestedField(a.Object, "high", "spec", "options", "level"))
	level, _, _ := unstructured.NestedString(b.Object, "spec", "options", "level")
	require.Equal(t, "low", level)
}

func TestCustom_ValidatesWithTheRealServersWords(t *testing.T) {
	for spec, want := range map[string][]string{
		`{size: 3}`:                                {},
		`{size: 3, port: 80}`:                      {},
		`{size: 3, port: http}`:                    {},
		`{size: "three"}`:                          {`spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`},
		`{size: 10}`:                               {`spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9`},
		`{}`:                                       {`spec.size: Required value`},
		`{size: 3, color: blue}`:                   {`spec.color: Unsupported value: "blue": supported values: "red", "green"`},
		`{size: 3, note: abcdef}`:                  {`spec.note: Too long: may not be more than 5 bytes`},
		`{size: 3, note: AB}`:                      {`spec.note: Invalid value: "AB": spec.note in body should match '^[a-z]*$'`},
		`{size: 3, tags: [a, b, c]}`:               {`spec.tags: Too many: 3: must have at most 2 items`},
		`{size: 3, tags: [a, a]}`:                  {`spec.tags[1]: Duplicate value: "a"`},
		`{size: 3, ports: [{port: 1}, {port: 1}]}`: {`spec.ports[1]: Duplicate value: {"port":1}`},
		`{size: 3, port: true}`:                    {`spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"`},
		`7`:                                        {`spec: Invalid value: "integer": spec in body must be of type object: "integer"`},
	} {
		t.Run(spec, func(t *testing.T) {
			require.Equal(t, want, messages(build(t).Custom.Validate(widget(t, spec), nil)))
		})
	}
}

func TestCustom_WhatWasWrongBeforeMayStay(t *testing.T) {
	info := build(t)
	old := widget(t, `{size: 10, color: blue}`)
	require.Empty(t, info.Custom.Validate(widget(t, `{size: 10, color: blue, note: a}`), old))
	require.Len(t, info.Custom.Validate(widget(t, `{size: 11, color: blue}`), old), 1)
	require.Len(t, info.Custom.Validate(widget(t, `{}`), widget(t, `{}`)), 1, "what is required stays so")
}

func TestCustom_IsSafeForConcurrentUse(t *testing.T) {
	info := build(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			u := widget(t, `{size: "x", bogus: 1, note: AB}`)
			info.Custom.Prune(u)
			info.Custom.Default(u)
			if got := len(info.Custom.Validate(u, nil)); got != 2 {
				t.Errorf("%d errors", got)
			}
		})
	}
	wg.Wait()
}

func Example() {
	def := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(widgets), def); err != nil {
		panic(err)
	}
	crd.Default(def)
	fmt.Println("errors:", len(crd.Validate(def, nil)), "changed:", crd.Accept(def, nil), "established:", crd.Established(def))
	infos, _ := crd.Build(def)
	for _, v := range def.Spec.Versions {
		info := infos[v.Name]
		fmt.Println(info.GVR.Version, info.GVR.Resource, "status subresource:", info.Status)
	}
	w := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": "big", "colour": "red"}}}
	fmt.Println("pruned:", infos["v1"].Custom.Prune(w))
	fmt.Println(infos["v1"].Custom.Validate(w, nil)[0])
	// Output:
	// errors: 0 changed: true established: true
	// v1 widgets status subresource: true
	// v1alpha1 widgets status subresource: false
	// v0 widgets status subresource: false
	// pruned: [spec.colour]
	// spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"
}
