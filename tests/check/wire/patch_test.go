package wire

import (
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var patches = group("patch", []check{
	{name: "a JSON patch is a list of operations", run: func(t T, s *server) {
		s.configMaps("a")
		got := s.patch(s.path("configmaps", "a"), jsonPatch, `[{op: test, path: /data/k, value: v}, {op: add, path: /data/l, value: w}, {op: remove, path: /data/k}]`)
		require.Equal(t, map[string]any{"l": "w"}, got.want(200).at("data"))
	}},
	{name: "a test that fails is 422", run: func(t T, s *server) {
		version := s.configMaps("a").version()
		s.patch(s.path("configmaps", "a"), jsonPatch, `[{op: add, path: /data/l, value: w}, {op: test, path: /data/k, value: x}]`).
			fails(422, metav1.StatusReasonInvalid, "the server rejected our request due to an error in our request")
		require.Equal(t, version, s.get(s.path("configmaps", "a")).version())
	}},
	{name: "to remove what is not there is 422", run: func(t T, s *server) {
		s.configMaps("a")
		s.patch(s.path("configmaps", "a"), jsonPatch, `[{op: remove, path: /data/none}]`).
			fails(422, metav1.StatusReasonInvalid, "the server rejected our request due to an error in our request")
	}},
	{name: "a JSON patch that is no list is 400", run: func(t T, s *server) {
		s.configMaps("a")
		s.patch(s.path("configmaps", "a"), jsonPatch, "{}").fails(400, metav1.StatusReasonBadRequest, "error decoding patch: json: cannot unmarshal object into Go value of type …")
		s.do("PATCH", s.path("configmaps", "a"), "[", "Content-Type: "+jsonPatch).fails(400, metav1.StatusReasonBadRequest, "invalid JSON patch")
	}},
	{name: "a merge patch merges maps, replaces lists and removes nulls", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "{metadata: {name: a, finalizers: [x.org/a, x.org/b]}, data: {k: v, l: w}}").want(201)
		got := s.patch(s.path("configmaps", "a"), mergePatch, "{metadata: {finalizers: [x.org/b]}, data: {k: null, m: x}}").want(200)
		require.Equal(t, map[string]any{"l": "w", "m": "x"}, got.at("data"))
		require.Equal(t, []string{"x.org/b"}, got.meta().Finalizers)
	}},
	{name: "a merge patch that is no object is 400", run: func(t T, s *server) {
		s.configMaps("a")
		s.patch(s.path("configmaps", "a"), mergePatch, "[]").fails(400, metav1.StatusReasonBadRequest,
			"error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}")
		s.do("PATCH", s.path("configmaps", "a"), "{", "Content-Type: "+mergePatch).fails(400, metav1.StatusReasonBadRequest, "invalid JSON patch")
	}},
	{name: "a strategic patch merges lists by their key", run: func(t T, s *server) {
		s.pod("a", "")
		s.patch(s.path("pods", "a"), strategicPatch, `{spec: {containers: [{name: c, image: j}]}, metadata: {finalizers: [x.org/a]}}`).want(200)
		got := s.patch(s.path("pods", "a"), strategicPatch, `{metadata: {finalizers: [x.org/b]}}`).want(200)
		require.ElementsMatch(t, []string{"x.org/a", "x.org/b"}, got.meta().Finalizers)
		containers := got.at("spec", "containers").([]any)
		require.Len(t, containers, 1)
		require.Equal(t, "j", containers[0].(map[string]any)["image"])
	}},
	{name: "a strategic patch takes directives", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "{metadata: {name: a}, data: {k: v, l: w}}").want(201)
		got := s.patch(s.path("configmaps", "a"), strategicPatch, `{data: {$patch: replace, m: x}}`).want(200)
		require.Equal(t, map[string]any{"m": "x"}, got.at("data"))
		s.patch(s.path("configmaps", "a"), strategicPatch, `{data: {$patch: nope}}`).want(500)
	}},
	{name: "a type that is no patch is 415", run: func(t T, s *server) {
		s.configMaps("a")
		for _, contentType := range []string{"application/json", "text/plain", "application/strategic-merge-patch"} {
			s.patch(s.path("configmaps", "a"), contentType, "{}").fails(415, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type")
		}
	}},
	{name: "a patch of nothing is 404", run: func(t T, s *server) {
		for _, contentType := range []string{mergePatch, strategicPatch} {
			s.patch(s.path("configmaps", "a"), contentType, "{}").fails(404, metav1.StatusReasonNotFound, `configmaps "a" not found`)
		}
		s.patch(s.path("configmaps", "a"), jsonPatch, "[]").fails(404, metav1.StatusReasonNotFound, `configmaps "a" not found`)
	}},
	{name: "a patch with an old version is 409", run: func(t T, s *server) {
		s.configMaps("a")
		s.patch(s.path("configmaps", "a"), mergePatch, "{metadata: {resourceVersion: '1'}, data: {k: w}}").fails(409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on configmaps "a": `+modified)
	}},
	{name: "a patch cannot rename", run: func(t T, s *server) {
		s.configMaps("a")
		s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {name: b}").fails(400, metav1.StatusReasonBadRequest,
			"the name of the object (b) does not match the name on the URL (a)")
	}},
	{name: "a patch cannot change the uid", run: func(t T, s *server) {
		s.configMaps("a")
		s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {uid: other}").fails(422, metav1.StatusReasonInvalid,
			`ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable`)
	}},
	{name: "a patch to an invalid object is 422", run: func(t T, s *server) {
		s.configMaps("a")
		status := s.patch(s.path("configmaps", "a"), mergePatch, "data: {a b: c}").fails(422, metav1.StatusReasonInvalid,
			`ConfigMap "a" is invalid: data[a b]: Invalid value: "a b": a valid config key must consist of …`)
		details(t, status, "a", "", "ConfigMap")
		s.patch(s.path("configmaps", "a"), mergePatch, "data: {k: 1}").fails(422, metav1.StatusReasonInvalid, ` "" is invalid: patch: Invalid value: …`)
	}},
	{name: "force is for apply only", run: func(t T, s *server) {
		s.configMaps("a")
		status := s.patch(s.path("configmaps", "a")+"?force=true", mergePatch, "{}").fails(422, metav1.StatusReasonInvalid,
			`PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch`)
		details(t, status, "", "meta.k8s.io", "PatchOptions")
	}},
	{name: "patches that race do not lose each other's keys", run: func(t T, s *server) {
		s.configMaps("a")
		done := make(chan int, 8)
		for i := range cap(done) {
			go func() { done <- s.patch(s.path("configmaps", "a"), mergePatch, "data: {n"+strconv.Itoa(i)+": x}").code }()
		}
		for range cap(done) {
			require.Equal(t, 200, <-done)
		}
		require.Len(t, s.get(s.path("configmaps", "a")).at("data"), 1+cap(done))
	}},
})

const appliedMap = "apiVersion: v1\nkind: ConfigMap\n"

var applies = group("apply", []check{
	{name: "apply creates with 201 and changes with 200", run: func(t T, s *server) {
		body := appliedMap + "metadata: {name: a}\ndata: {k: v}"
		s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, body).want(201)
		version := s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, body).want(200).version()
		require.Equal(t, version, s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, body).want(200).version())
		got := s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, appliedMap+"metadata: {name: a}\ndata: {l: w}").want(200)
		require.Equal(t, map[string]any{"l": "w"}, got.at("data"), "what was applied before and is not now is gone")
	}},
	{name: "apply needs a field manager", run: func(t T, s *server) {
		status := s.patch(s.path("configmaps", "a"), applyPatch, appliedMap+"metadata: {name: a}").fails(422, metav1.StatusReasonInvalid,
			`PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch`)
		require.Equal(t, []string{"FieldValueRequired fieldManager: Required value: is required for apply patch"}, causes(status))
	}},
	{name: "a field of another manager is a conflict with its cause", run: func(t T, s *server) {
		s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, appliedMap+"metadata: {name: a}\ndata: {k: v, l: w}").want(201)
		status := s.patch(s.path("configmaps", "a")+"?fieldManager=you", applyPatch, appliedMap+"metadata: {name: a}\ndata: {k: x, l: z}").
			fails(409, metav1.StatusReasonConflict, "Apply failed with 2 conflicts: conflicts with \"me\":\n- .data.k\n- .data.l")
		require.Equal(t, []string{`FieldManagerConflict .data.k: conflict with "me"`, `FieldManagerConflict .data.l: conflict with "me"`}, causes(status))
	}},
	{name: "a field that was written by an update conflicts, too", run: func(t T, s *server) {
		s.post(s.path("configmaps")+"?fieldManager=writer", "{metadata: {name: a}, data: {k: v}}").want(201)
		status := s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, appliedMap+"metadata: {name: a}\ndata: {k: x}").want(409)
		require.Contains(t, string(status.body), `Apply failed with 1 conflict: conflict with \"writer\" using v1`)
	}},
	{name: "force takes the field over", run: func(t T, s *server) {
		s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, appliedMap+"metadata: {name: a}\ndata: {k: v}").want(201)
		got := s.patch(s.path("configmaps", "a")+"?fieldManager=you&force=true", applyPatch, appliedMap+"metadata: {name: a}\ndata: {k: x}").want(200)
		require.Equal(t, "x", got.at("data", "k"))
		require.Len(t, got.meta().ManagedFields, 1)
		require.Equal(t, "you", got.meta().ManagedFields[0].Manager)
	}},
	{name: "managers who agree share a field", run: func(t T, s *server) {
		body := appliedMap + "metadata: {name: a}\ndata: {k: v}"
		s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, body).want(201)
		got := s.patch(s.path("configmaps", "a")+"?fieldManager=you", applyPatch, body).want(200)
		require.Len(t, got.meta().ManagedFields, 2)
		got = s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, appliedMap+"metadata: {name: a}").want(200)
		require.Equal(t, "v", got.at("data", "k"), "the other still wants it")
	}},
	{name: "managedFields tell manager, operation and fields", run: func(t T, s *server) {
		s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, appliedMap+"metadata: {name: a}\ndata: {k: v}").want(201)
		got := s.do("PATCH", s.path("configmaps", "a"), `{"data":{"l":"w"}}`, "Content-Type: "+mergePatch, "User-Agent: tool/1.2 (x)").want(200).meta()
		require.Len(t, got.ManagedFields, 2)
		for i, want := range []struct{ manager, operation, fields string }{
			{"me", "Apply", `{"f:data":{"f:k":{}}}`}, {"tool", "Update", `{"f:data":{"f:l":{}}}`},
		} {
			m := got.ManagedFields[i]
			require.Equal(t, want.manager, m.Manager)
			require.EqualValues(t, want.operation, m.Operation)
			require.Equal(t, "v1", m.APIVersion)
			require.Equal(t, "FieldsV1", m.FieldsType)
			require.NotNil(t, m.Time)
			require.JSONEq(t, want.fields, m.FieldsV1.GetRawString())
		}
	}},
	{name: "what the server allocates is nobody's, what it defaults is the writer's", run: func(t T, s *server) {
		got := s.post(s.path("services")+"?fieldManager=me", "{metadata: {name: a}, spec: {ports: [{port: 80}]}}").want(201).meta()
		require.Len(t, got.ManagedFields, 1)
		require.JSONEq(t, `{"f:spec":{"f:internalTrafficPolicy":{},"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":
			{".":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}},"f:sessionAffinity":{},"f:type":{}}}`, got.ManagedFields[0].FieldsV1.GetRawString())
	}},
	{name: "managedFields may be emptied, not applied", run: func(t T, s *server) {
		s.configMaps("a")
		require.Empty(t, s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {managedFields: [{}]}").want(200).meta().ManagedFields)
		s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, appliedMap+"metadata: {name: a, managedFields: [{}]}").
			fails(400, metav1.StatusReasonBadRequest, "metadata.managedFields must be nil")
	}},
	{name: "a dry run of apply creates nothing", run: func(t T, s *server) {
		s.patch(s.path("configmaps", "a")+"?fieldManager=me&dryRun=All", applyPatch, appliedMap+"metadata: {name: a}").want(201)
		s.get(s.path("configmaps", "a")).want(404)
	}},
	{name: "apply of a uid that is gone is 409", run: func(t T, s *server) {
		s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, appliedMap+"metadata: {name: a, uid: gone}").fails(409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid gone, and no existing object was found`)
	}},
	{name: "apply of an unknown field is refused", run: func(t T, s *server) {
		s.patch(s.path("configmaps", "a")+"?fieldManager=me", applyPatch, appliedMap+"metadata: {name: a}\nx: 1").fails(500, "",
			"failed to create typed patch object (/a; /v1, Kind=ConfigMap): .x: field not declared in schema")
	}},
	{name: "status has a manager of its own", run: func(t T, s *server) {
		s.pod("a", "")
		s.patch(s.path("pods", "a", "status")+"?fieldManager=kubelet", mergePatch, "status: {phase: Running}").want(200)
		var found bool
		for _, m := range s.get(s.path("pods", "a")).meta().ManagedFields {
			if m.Manager == "kubelet" {
				found = true
				require.Equal(t, "status", m.Subresource)
			}
		}
		require.True(t, found)
	}},
	{name: "a field manager has at most 128 bytes", run: func(t T, s *server) {
		long := "?fieldManager=" + strings.Repeat("x", 129)
		s.post(s.path("configmaps")+long, "metadata: {name: a}").fails(422, metav1.StatusReasonInvalid,
			`CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes`)
	}},
})
