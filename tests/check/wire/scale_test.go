package wire

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scaled has the replicas in spec.size.
const scaled = "\n    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.ready, labelSelectorPath: .status.selector}}"

var definedMore = group("definitions, more", []check{
	{name: "a scale is a view of an object", run: func(t T, s *server) {
		d := s.define(scaled, "")
		made := s.post(d.path(s.ns), d.object("a", "size: 2")).want(201)
		s.patch(d.path(s.ns, "a", "status"), mergePatch, "status: {ready: 1, selector: app=a}").want(200)
		got := s.get(d.path(s.ns, "a", "scale")).want(200)
		require.Equal(t, metav1.TypeMeta{Kind: "Scale", APIVersion: "autoscaling/v1"}, got.meta().TypeMeta)
		require.Equal(t, []any{map[string]any{"replicas": 2.0}, map[string]any{"replicas": 1.0, "selector": "app=a"}},
			[]any{got.at("spec"), got.at("status")})
		require.Equal(t, made.meta().UID, got.meta().UID)
		require.Equal(t, s.get(d.path(s.ns, "a")).version(), got.version())
		s.get(d.path(s.ns, "b", "scale")).fails(404, metav1.StatusReasonNotFound, fmt.Sprintf(`%s.%s "b" not found`, d.plural, d.group))
		s.delete(d.path(s.ns, "a", "scale"), "").want(405)
	}},
	{name: "an object is scaled by its scale", run: func(t T, s *server) {
		d := s.define(scaled, "")
		path := d.path(s.ns, "a", "scale")
		s.post(d.path(s.ns), d.object("a", "size: 2, color: blue")).want(201)
		before := s.get(path).want(200)
		got := s.patch(path+"?fieldManager=me", mergePatch, "{spec: {replicas: 3}, status: {replicas: 9}}").want(200)
		require.Equal(t, []any{map[string]any{"replicas": 3.0}, map[string]any{"replicas": 0.0}}, []any{got.at("spec"), got.at("status")})
		object := s.get(d.path(s.ns, "a")).want(200)
		require.Equal(t, map[string]any{"size": 3.0, "color": "blue"}, object.at("spec"))
		require.EqualValues(t, 2, object.meta().Generation)
		for _, m := range object.meta().ManagedFields {
			if m.Manager == "me" {
				require.Equal(t, "scale", m.Subresource)
				require.Equal(t, `{"f:spec":{"f:size":{}}}`, compact(t, m.FieldsV1.GetRawBytes()))
			}
		}
		require.Len(t, object.meta().ManagedFields, 2)
		s.do("PUT", path, strings.Replace(string(before.body), `"replicas":2`, `"replicas":4`, 1)).fails(409, metav1.StatusReasonConflict,
			fmt.Sprintf(`Operation cannot be fulfilled on %s.%s "a": %s`, d.plural, d.group, modified))
		got = s.put(path, "{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: a, namespace: "+s.ns+"}, spec: {replicas: 5}}").want(200)
		require.Equal(t, 5.0, got.at("spec", "replicas"))
		s.patch(path, jsonPatch, "[{op: replace, path: /spec/replicas, value: 6}]").want(200)
		s.put(path, "{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: b}, spec: {replicas: 5}}").want(400)
		refused := s.patch(path, mergePatch, "spec: {replicas: -1}").want(422)
		require.Contains(t, string(refused.body), ".spec.size: Invalid value: -1: should be a non-negative integer")
		require.Equal(t, 6.0, s.get(d.path(s.ns, "a")).at("spec", "size"))
	}},
	{name: "the scale is discovered", run: func(t T, s *server) {
		d := s.define(scaled, "")
		s.eventually("it is", func() bool {
			for _, r := range s.get("/apis/" + d.group + "/v1").want(200).at("resources").([]any) {
				if r := r.(map[string]any); r["name"] == d.plural+"/scale" {
					require.Equal(t, map[string]any{"name": d.plural + "/scale", "singularName": "", "namespaced": true, "group": "autoscaling",
						"version": "v1", "kind": "Scale", "verbs": []any{"get", "patch", "update"}}, r)
					return true
				}
			}
			return false
		})
	}},
	{name: "a definition says which fields select", run: func(t T, s *server) {
		d := s.define("\n    selectableFields: [{jsonPath: .spec.color}, {jsonPath: .spec.size}]", "")
		for name, spec := range map[string]string{"a": "size: 1", "b": "size: 2, color: blue", "c": "size: 2"} {
			s.post(d.path(s.ns), d.object(name, spec)).want(201)
		}
		require.Equal(t, []string{"a", "c"}, s.get(d.path(s.ns)+"?fieldSelector=spec.color%3Dred").names())
		require.Equal(t, []string{"c"}, s.get(d.path(s.ns)+"?fieldSelector=spec.color%3Dred,spec.size%3D2").names())
		require.Equal(t, []string{"b"}, s.get(d.path(s.ns)+"?fieldSelector=spec.color!%3Dred").names())
		s.get(d.path(s.ns)+"?fieldSelector=spec.note%3D").fails(400, metav1.StatusReasonBadRequest, "field label not supported: spec.note")
		w := s.watch(d.path(s.ns) + "?fieldSelector=spec.color%3Dblue")
		w.expect("ADDED b")
		s.patch(d.path(s.ns, "b"), mergePatch, "spec: {color: red}").want(200)
		w.expect("DELETED b")
	}},
	{name: "who uses a deprecated version is warned", run: func(t T, s *server) {
		d := s.define("\n    deprecated: true", "")
		warning := fmt.Sprintf(`299 - "%s/v1 %s is deprecated"`, d.group, d.kind)
		require.Equal(t, []string{warning}, s.get(d.path(s.ns)).want(200).warnings())
		require.Equal(t, []string{warning}, s.post(d.path(s.ns), d.object("a", "size: 1")).want(201).warnings())
		require.Equal(t, []string{warning}, s.watch(d.path(s.ns)).header.Values("Warning"))
		s.patch(d.self(), jsonPatch, "[{op: add, path: /spec/versions/0/deprecationWarning, value: 'no more'}]").want(200)
		s.eventually("it says so in its own words", func() bool {
			return strings.Join(s.get(d.path(s.ns)).warnings(), "") == `299 - "no more"`
		})
	}},
	{name: "another version is recommended in its place", run: func(t T, s *server) {
		d := s.defineTwo(size, size, "v2")
		s.patch(d.self(), jsonPatch, "[{op: add, path: /spec/versions/0/deprecated, value: true}]").want(200)
		warning := fmt.Sprintf(`299 - "%s/v1 %s is deprecated; use %[1]s/v2 %[2]s"`, d.group, d.kind)
		s.eventually("v1 is deprecated", func() bool { return strings.Join(s.get(d.path(s.ns)).warnings(), "") == warning })
		require.Empty(t, s.get(inSecond(d.path(s.ns))).want(200).warnings())
	}},
	{name: "watches end when the schema changes, and show it when they begin again", run: func(t T, s *server) {
		d := s.define("", "")
		s.post(d.path(s.ns), d.object("a", "size: 1")).want(201)
		w := s.watch(d.path(s.ns))
		w.expect("ADDED a")
		s.patch(d.self(), jsonPatch, "[{op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/more, value: {type: string}}]").want(200)
		w.expect("end")
		w = s.watch(d.path(s.ns))
		w.expect("ADDED a")
		s.post(d.path(s.ns), d.object("b", "size: 1, more: x")).want(201)
		require.Contains(t, string(w.expect("ADDED b").Object), `"more":"x"`)
	}},
})
