package patch_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"glasswatch/internal/apiserver/crd"
	"glasswatch/internal/apiserver/patch"
	"glasswatch/internal/apiserver/resource"
)

func widgets(t testing.TB) *resource.Info {
	t.Helper()
	def := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(`
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              color: {type: string, default: red}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port]
                items: {type: object, required: [port], properties: {port: {type: integer}, name: {type: string}}}
          status: {type: object, properties: {ready: {type: boolean}}}
`), def))
	crd.Default(def)
	require.Empty(t, crd.Validate(def, nil))
	infos, err := crd.Build(def)
	require.NoError(t, err)
	return infos["v1"]
}

func applyWidget(spec, manager string) patch.Request {
	return patch.Request{Type: types.ApplyYAMLPatchType, FieldManager: manager, Name: "w", Namespace: "shop",
		Body: []byte("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, finalizers: [" + manager + ".example.com/x]}\nspec: " + spec)}
}

func TestPatch_CustomResourcesMergeByTheirSchema(t *testing.T) {
	p := patch.ForInfo(widgets(t), "", nil)
	require.True(t, p.Custom())
	created, _, err := p.Patch(nil, applyWidget(`{size: 1, ports: [{port: 80, name: a}]}`, "alice"))
	require.NoError(t, err)
	w := created.(*unstructured.Unstructured)
	w.SetUID("1")
	color, _, _ := unstructured.NestedString(w.Object, "spec", "color")
	require.Equal(t, "red", color, "defaulted")

	merged, _, err := p.Patch(w, applyWidget(`{ports: [{port: 81, name: b}]}`, "bob"))
	require.NoError(t, err)
	ports, _, _ := unstructured.NestedSlice(merged.(*unstructured.Unstructured).Object, "spec", "ports")
	require.Len(t, ports, 2)
	require.ElementsMatch(t, []string{"alice.example.com/x", "bob.example.com/x"}, merged.(*unstructured.Unstructured).GetFinalizers(), "a set")

	_, _, err = p.Patch(merged, applyWidget(`{size: 2}`, "bob"))
	require.EqualError(t, err, `Apply failed with 1 conflict: conflict with "alice": .spec.size`)
	require.True(t, apierrors.IsConflict(err))
	_, _, err = p.Patch(merged, applyWidget(`{bogus: 2}`, "bob"))
	require.ErrorContains(t, err, ".spec.bogus: field not declared in schema")
}

func TestPatch_CustomResourcesHaveNoStrategicMerge(t *testing.T) {
	p := patch.ForInfo(widgets(t), "", nil)
	_, _, err := p.Patch(nil, patch.Request{Type: types.StrategicMergePatchType})
	require.Equal(t, int32(415), status(t, err).Code)
	require.Equal(t, "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml", err.Error())
}

func TestPatch_CustomResourcesArePrunedAndWarnedAbout(t *testing.T) {
	p := patch.ForInfo(widgets(t), "", nil)
	obj, warnings, err := p.Decode([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","nam":"x","creationTimestamp":null},"spec":{"size":1,"bogus":2}}`), "", "")
	require.NoError(t, err)
	require.Equal(t, []string{`unknown field "metadata.nam"`, `unknown field "spec.bogus"`}, warnings)
	w := obj.(*unstructured.Unstructured)
	require.Equal(t, map[string]any{"size": int64(1), "color": "red"}, w.Object["spec"])

	out, warnings, err := p.Patch(w, patch.Request{Type: types.MergePatchType, Body: []byte(`{"spec":{"size":2,"bogus":1}}`)})
	require.NoError(t, err)
	require.Equal(t, []string{`unknown field "spec.bogus"`}, warnings)
	require.Equal(t, map[string]any{"size": int64(2), "color": "red"}, out.(*unstructured.Unstructured).Object["spec"])

	_, _, err = p.Patch(w, patch.Request{Type: types.JSONPatchType, Body: []byte(`[{"op":"add","path":"/spec/bogus","value":1}]`), FieldValidation: "Strict"})
	require.ErrorContains(t, err, `strict decoding error: unknown field "spec.bogus"`)
	_, _, err = p.Decode([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","spec":{"bogus":2}}`), "", "Strict")
	require.EqualError(t, err, `Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.bogus"`)
	_, _, err = p.Decode([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"labels":7}}`), "", "")
	require.Equal(t, metav1.StatusReasonBadRequest, status(t, err).Reason)
}

func TestDecode_CustomResourcesSayWhatTheyAre(t *testing.T) {
	p := patch.ForInfo(widgets(t), "", nil)
	for body, message := range map[string]string{
		`{"metadata":{"name":"w"}}`:                                             `the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{"metadata":{"name":"w"}}' ({"metadata":{"name":"w"}})`,
		`{"apiVersion":"v1","kind":"Widget"}`:                                   "the API version in the data (v1) does not match the expected API version (example.com/v1)",
		`{"apiVersion":"example.com/v1","kind":"Nope","metadata":{"name":"w"}}`: `Nope.example.com "w" is invalid: kind: Invalid value: "Nope": must be Widget`,
	} {
		_, _, err := p.Decode([]byte(body), "", "")
		require.Equal(t, message, status(t, err).Message)
	}
}

func TestTrack_CustomStatusOwnsNothingElse(t *testing.T) {
	info := widgets(t)
	main, sub := patch.ForInfo(info, "", nil), patch.ForInfo(info, "status", nil)
	obj, _, err := main.Decode([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","uid":"1"},"spec":{"size":1}}`), "", "")
	require.NoError(t, err)
	live := main.Track(nil, obj, "maker")
	changed := live.DeepCopyObject().(*unstructured.Unstructured)
	require.NoError(t, unstructured.SetNestedField(changed.Object, true, "status", "ready"))
	require.NoError(t, unstructured.SetNestedField(changed.Object, int64(9), "spec", "size"))
	entries := sub.Track(live, changed, "reporter").(*unstructured.Unstructured).GetManagedFields()
	require.Len(t, entries, 2)
	require.JSONEq(t, `{"f:status":{".":{},"f:ready":{}}}`, string(entries[1].FieldsV1.GetRawBytes()))
	require.Equal(t, "status", entries[1].Subresource)
}

func TestTrack_WhatDoesNotFitTheSchemaKeepsTheOldOwners(t *testing.T) {
	p := patch.ForInfo(widgets(t), "", nil)
	obj, _, err := p.Decode([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","uid":"1"},"spec":{"size":1}}`), "", "")
	require.NoError(t, err)
	live := p.Track(nil, obj, "maker").(*unstructured.Unstructured)
	out, _, err := p.Patch(live, patch.Request{Type: types.MergePatchType, Body: []byte(`{"spec":{"size":"big"}}`)})
	require.NoError(t, err, "validation is not the patch's part")
	require.Equal(t, live.GetManagedFields(), out.(*unstructured.Unstructured).GetManagedFields())
}
