package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// definition is a CustomResourceDefinition of its check only.
type definition struct{ plural, kind, group string }

const widgetSchema = `
          type: object
          properties:
            spec:
              type: object
              required: [size]
              properties:
                size: {type: integer, minimum: 1}
                color: {type: string, default: red}
                note: {type: string, nullable: true}
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true`

// body is the definition's own; version is more of its version, indented by six, names more of its names.
func (d definition) body(version, names string) string {
	return fmt.Sprintf(`
metadata: {name: %[1]s.%[3]s}
spec:
  group: %[3]s
  scope: Namespaced
  names: {plural: %[1]s, kind: %[2]s%[4]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}%[5]s
`, d.plural, d.kind, d.group, names, version)
}

func (s *server) definition() definition {
	number := strings.TrimPrefix(s.ns, "wire-")
	return definition{"widgets" + number, "Widget" + number, "wire.example.org"}
}

// define creates a definition and waits till it is served.
func (s *server) define(version, names string) definition {
	s.t.Helper()
	d := s.definition()
	body := d.body(version, names)
	s.post(definitions, strings.Replace(body, " {openAPIV3Schema: {type: object}}", "\n        openAPIV3Schema:"+widgetSchema, 1)).want(201)
	s.t.Cleanup(func() { s.delete(d.self(), "") })
	s.eventually(d.plural+" are served", func() bool { return s.get(d.path(s.ns)).code == 200 })
	return d
}

func (d definition) self() string { return definitions + "/" + d.plural + "." + d.group }

func (d definition) path(namespace string, more ...string) string {
	return strings.Join(append([]string{"/apis", d.group, "v1/namespaces", namespace, d.plural}, more...), "/")
}

func (d definition) object(name, spec string) string {
	return fmt.Sprintf("{apiVersion: %s/v1, kind: %s, metadata: {name: %s}, spec: {%s}}", d.group, d.kind, name, spec)
}

var definitionsGroup = group("definitions", []check{
	{name: "a definition is established, discovered and served", run: func(t T, s *server) {
		d := s.define("", ", shortNames: [wd"+s.ns+"], categories: [all]")
		s.eventually("it is established, and its names are accepted: the second alone lets it be served", func() bool {
			conditions := map[string]any{}
			for _, c := range s.get(d.self()).at("status", "conditions").([]any) {
				conditions[c.(map[string]any)["type"].(string)] = c.(map[string]any)["status"]
			}
			return maps.Equal(conditions, map[string]any{"NamesAccepted": "True", "Established": "True"})
		})
		require.Equal(t, []any{"v1"}, s.get(d.self()).at("status", "storedVersions"))
		var r map[string]any
		s.eventually("it is discovered", func() bool {
			found := s.get("/apis/" + d.group + "/v1")
			if found.code != 200 {
				return false
			}
			resources := found.at("resources").([]any)
			i := slices.IndexFunc(resources, func(r any) bool { return r.(map[string]any)["name"] == d.plural })
			if i >= 0 {
				r = resources[i].(map[string]any)
			}
			return i >= 0
		})
		require.Equal(t, d.kind, r["kind"])
		require.Equal(t, strings.ToLower(d.kind), r["singularName"])
		require.Equal(t, true, r["namespaced"])
		require.Equal(t, []any{"wd" + s.ns}, r["shortNames"])
		require.Equal(t, []any{"all"}, r["categories"])
		require.ElementsMatch(t, []any{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}, r["verbs"])
	}},
	{name: "options of a deletion may be of the kind's own group, as generated clients send them", run: func(t T, s *server) {
		d := s.define("", "")
		for _, group := range []string{d.group + "/v1", "meta.k8s.io/v1", "v1"} {
			s.post(d.path(s.ns), d.object("a", "size: 1")).want(201)
			s.delete(d.path(s.ns, "a"), "{kind: DeleteOptions, apiVersion: "+group+"}").want(200)
		}
	}},
	{name: "its name says plural and group", run: func(t T, s *server) {
		d := s.definition()
		s.post(definitions, strings.Replace(d.body("", ""), "name: "+d.plural+"."+d.group, "name: x", 1)).fails(422, metav1.StatusReasonInvalid,
			`CustomResourceDefinition.apiextensions.k8s.io "x" is invalid: metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group`)
	}},
	{name: "it has a schema", run: func(t T, s *server) {
		d := s.definition()
		status := s.post(definitions, strings.Replace(d.body("", ""), "schema: {openAPIV3Schema: {type: object}}", "", 1)).want(422)
		require.Contains(t, string(status.body), `"field":"spec.versions[0].schema.openAPIV3Schema"`)
	}},
	{name: "it stores exactly one version", run: func(t T, s *server) {
		d := s.definition()
		got := s.post(definitions, strings.Replace(d.body("", ""), "storage: true", "storage: false", 1)).want(422)
		require.Contains(t, string(got.body), "must have exactly one version marked as storage version")
	}},
	{name: "in a group of Kubernetes' own it says who approved it", run: func(t T, s *server) {
		d := s.definition()
		d.group = d.plural + ".k8s.io"
		const annotation = "metadata.annotations[api-approved.kubernetes.io]"
		s.post(definitions, d.body("", "")).fails(422, metav1.StatusReasonInvalid, fmt.Sprintf(`CustomResourceDefinition.apiextensions.k8s.io "%s.%s" is invalid: %s: `+
			`Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111`,
			d.plural, d.group, annotation))
		saying := func(who string) string {
			return strings.Replace(d.body("", ""), "}\nspec", `, annotations: {"api-approved.kubernetes.io": "`+who+`"}}`+"\nspec", 1)
		}
		require.Contains(t, string(s.post(definitions, saying("me")).want(422).body), annotation+`: Invalid value: \"me\": protected groups must have approval annotation`)
		s.post(definitions, saying("unapproved, a test")).want(201)
		s.t.Cleanup(func() { s.delete(d.self(), "") })
		judged := func(want string) {
			s.eventually("the annotation is judged", func() bool {
				conditions, _ := s.get(d.self()).at("status", "conditions").([]any)
				for _, c := range conditions {
					if c := c.(map[string]any); c["type"] == "KubernetesAPIApprovalPolicyConformant" {
						return fmt.Sprint(c["status"], c["reason"], c["message"]) == want
					}
				}
				return false
			})
		}
		judged(`FalseUnapprovedAnnotationnot approved: "unapproved, a test"`)
		s.patch(d.self(), mergePatch, `metadata: {annotations: {"api-approved.kubernetes.io": "https://example.com/1"}}`).want(200)
		judged("TrueApprovedAnnotationapproved in https://example.com/1")
		s.patch(d.self(), mergePatch, `metadata: {annotations: {"api-approved.kubernetes.io": null}}`).want(422)
	}},
	{name: "unknown fields of objects are pruned, with a warning", run: func(t T, s *server) {
		d := s.define("", "")
		got := s.post(d.path(s.ns), d.object("a", "size: 1, junk: x")).want(201)
		require.Equal(t, map[string]any{"size": 1.0, "color": "red"}, got.at("spec"), "and defaults are filled in")
		require.Equal(t, []string{`299 - "unknown field \"spec.junk\""`}, got.warnings())
		s.post(d.path(s.ns)+"?fieldValidation=Strict", d.object("b", "size: 1, junk: x")).fails(400, metav1.StatusReasonBadRequest, fmt.Sprintf(
			`%s in version "v1" cannot be handled as a %[1]s: strict decoding error: unknown field "spec.junk"`, d.kind))
	}},
	{name: "objects are validated against the schema", run: func(t T, s *server) {
		d := s.define("", "")
		for spec, message := range map[string]string{
			"":        "spec.size: Required value",
			"size: 0": "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
			"size: x": `spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`,
		} {
			status := s.post(d.path(s.ns), d.object("a", spec)).fails(422, metav1.StatusReasonInvalid,
				fmt.Sprintf(`%s.%s "a" is invalid: %s`, d.kind, d.group, message))
			details(t, status, "a", d.group, d.kind)
			require.Equal(t, "spec.size", status.Details.Causes[0].Field)
		}
	}},
	{name: "objects say their kind and version", run: func(t T, s *server) {
		d := s.define("", "")
		s.post(d.path(s.ns), "{metadata: {name: a}, spec: {size: 1}}").fails(400, metav1.StatusReasonBadRequest,
			"the object provided is unrecognized (must be of type "+d.kind+"): Object 'Kind' is missing in …")
		s.post(d.path(s.ns), strings.Replace(d.object("a", "size: 1"), d.group+"/v1", "v1", 1)).fails(400, metav1.StatusReasonBadRequest,
			"the API version in the data (v1) does not match the expected API version ("+d.group+"/v1)")
		s.post(d.path(s.ns), strings.Replace(d.object("a", "size: 1"), "kind: "+d.kind, "kind: Nope", 1)).fails(422, metav1.StatusReasonInvalid,
			"Nope."+d.group+` "a" is invalid: kind: Invalid value: "Nope": must be `+d.kind)
	}},
	{name: "objects have generations and cannot be updated blindly", run: func(t T, s *server) {
		d := s.define("", "")
		made := s.post(d.path(s.ns), d.object("a", "size: 1")).want(201)
		require.EqualValues(t, 1, made.meta().Generation)
		require.EqualValues(t, 2, s.patch(d.path(s.ns, "a"), mergePatch, "spec: {size: 2}").want(200).meta().Generation)
		status := s.put(d.path(s.ns, "a"), d.object("a", "size: 3")).fails(422, metav1.StatusReasonInvalid,
			fmt.Sprintf(`%s.%s "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`, d.plural, d.group))
		details(t, status, "a", d.group, d.plural)
	}},
	{name: "objects have no strategic patch", run: func(t T, s *server) {
		d := s.define("", "")
		s.post(d.path(s.ns), d.object("a", "size: 1")).want(201)
		s.patch(d.path(s.ns, "a"), strategicPatch, "{}").fails(415, metav1.StatusReasonUnsupportedMediaType,
			"the body of the request was in an unknown format - accepted media types include: "+
				"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
		s.patch(d.path(s.ns, "a"), jsonPatch, "[{op: replace, path: /spec/size, value: 5}]").want(200)
	}},
	{name: "objects can be applied, and conflict", run: func(t T, s *server) {
		d := s.define("", "")
		s.patch(d.path(s.ns, "a")+"?fieldManager=me", applyPatch, d.object("a", "size: 1")).want(201)
		s.patch(d.path(s.ns, "a")+"?fieldManager=you", applyPatch, d.object("a", "size: 2")).fails(409, metav1.StatusReasonConflict,
			`Apply failed with 1 conflict: conflict with "me": .spec.size`)
	}},
	{name: "objects have no protobuf, but their metadata does", run: func(t T, s *server) {
		d := s.define("", "")
		s.get(d.path(s.ns), acceptProtobuf).want(406)
		s.get(d.path(s.ns), acceptProtobuf+";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io").want(200)
		s.get(d.path(s.ns), acceptProtobuf+", application/json").want(200)
	}},
	{name: "an unknown subresource of theirs is 404", run: func(t T, s *server) {
		d := s.define("", "")
		s.post(d.path(s.ns), d.object("a", "size: 1")).want(201)
		for _, sub := range []string{"status", "scale"} {
			details(t, s.get(d.path(s.ns, "a", sub)).fails(404, metav1.StatusReasonNotFound, fmt.Sprintf(`%s.%s "a" not found`, d.plural, d.group)), "a", d.group, d.plural)
		}
	}},
	{name: "with the subresource, status is written there only", run: func(t T, s *server) {
		d := s.define("\n    subresources: {status: {}}", "")
		made := s.post(d.path(s.ns), strings.TrimSuffix(d.object("a", "size: 1"), "}")+", status: {ready: true}}").want(201)
		require.Nil(t, made.at("status"))
		got := s.patch(d.path(s.ns, "a", "status"), mergePatch, "{metadata: {labels: {x: z}}, spec: {size: 9}, status: {ready: true}}").want(200)
		require.Equal(t, map[string]any{"ready": true}, got.at("status"))
		require.Equal(t, 1.0, got.at("spec", "size"))
		require.EqualValues(t, 1, got.meta().Generation)
		require.Empty(t, got.meta().Labels, "of custom resources, not even labels")
	}},
	{name: "columns of their own are in the Table", run: func(t T, s *server) {
		d := s.define("\n    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]", "")
		s.post(d.path(s.ns), d.object("a", "size: 3")).want(201)
		table := &metav1.Table{}
		s.get(d.path(s.ns), acceptTable).want(200).into(table)
		require.Equal(t, []string{"Name", "Size"}, []string{table.ColumnDefinitions[0].Name, table.ColumnDefinitions[1].Name})
		require.Equal(t, []any{"a", 3.0}, table.Rows[0].Cells)
	}},
	{name: "a field of theirs is no selector", run: func(t T, s *server) {
		d := s.define("", "")
		s.get(d.path(s.ns)+"?fieldSelector=spec.size%3D1").fails(400, metav1.StatusReasonBadRequest, "field label not supported: spec.size")
	}},
	{name: "what an object owns goes with it", run: func(t T, s *server) {
		d := s.define("", "")
		uid := s.post(d.path(s.ns), d.object("a", "size: 1")).want(201).meta().UID
		s.post(s.path("configmaps"), fmt.Sprintf("metadata: {name: mine, ownerReferences: [{apiVersion: %s/v1, kind: %s, "+
			"name: a, uid: %s, controller: true, blockOwnerDeletion: true}]}", d.group, d.kind, uid)).want(201)
		s.configMaps("other")
		s.delete(d.path(s.ns, "a"), "").want(200)
		s.gone(s.path("configmaps", "mine"))
		s.get(s.path("configmaps", "other")).want(200)
	}},
	{name: "a definition takes its objects with it", run: func(t T, s *server) {
		d := s.define("", "")
		s.post(d.path(s.ns), d.object("a", "size: 1")).want(201)
		w := s.watch(d.path(s.ns))
		w.expect("ADDED a")
		require.Contains(t, s.delete(d.self(), "").want(200).meta().Finalizers, "customresourcecleanup.apiextensions.k8s.io")
		w.expect("DELETED a")
		s.gone(d.self())
		s.gone(d.path(s.ns))
		require.Equal(t, "404 page not found\n", string(s.get(d.path(s.ns)).body))
	}},
})
