package patch_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/internal/apiserver/patch"
	"glasswatch/internal/apiserver/resource"
)

func builtin(t testing.TB, kind, subresource string) *patch.Patcher {
	t.Helper()
	for _, info := range resource.Builtins() {
		if info.GVK.Kind == kind {
			return patch.ForInfo(info, subresource, nil)
		}
	}
	t.Fatalf("no kind %s", kind)
	return nil
}

func webService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "1", Annotations: map[string]string{"keep": "me"}},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
			{Name: "http", Port: 80, Protocol: "TCP"}, {Name: "dns", Port: 53, Protocol: "UDP"},
		}},
	}
}

// status returns the error's status, which every error of the package has.
func status(t *testing.T, err error) metav1.Status {
	t.Helper()
	var s *apierrors.StatusError
	require.ErrorAs(t, err, &s)
	return s.Status()
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func TestPatch_BodiesChangeWhatTheySay(t *testing.T) {
	for name, tc := range map[string]struct {
		patchType types.PatchType
		body      string
		want      string // the spec's ports and the annotations
	}{
		"json patch adds and removes": {types.JSONPatchType,
			`[{"op":"add","path":"/metadata/annotations/ingress~1http","value":"true"},{"op":"remove","path":"/spec/ports/0"}]`,
			`[{"name":"dns","protocol":"UDP","port":53,"targetPort":0}] {"ingress/http":"true","keep":"me"}`},
		"merge patch replaces a list": {types.MergePatchType,
			`{"metadata":{"annotations":{"keep":null}},"spec":{"ports":[{"port":8080}]}}`,
			`[{"port":8080,"targetPort":0}] {}`},
		"strategic merge patch merges ports by number": {types.StrategicMergePatchType,
			`{"spec":{"ports":[{"port":80,"name":"web"},{"port":443,"protocol":"TCP"},{"port":53,"$patch":"delete"}]}}`,
			`[{"name":"web","protocol":"TCP","port":80,"targetPort":0},{"protocol":"TCP","port":443,"targetPort":0}] {"keep":"me"}`},
	} {
		t.Run(name, func(t *testing.T) {
			live := webService()
			out, warnings, err := builtin(t, "Service", "").Patch(live, patch.Request{Type: tc.patchType, Body: []byte(tc.body), Name: "web", Namespace: "shop"})
			require.NoError(t, err)
			require.Empty(t, warnings)
			svc := out.(*corev1.Service)
			require.Equal(t, tc.want, asJSON(t, svc.Spec.Ports)+" "+asJSON(t, svc.Annotations))
			require.Equal(t, webService(), live, "the current object is not the patch's to change")
		})
	}
}

func TestPatch_RefusalsAreTheRealServers(t *testing.T) {
	const (
		jsonType = types.JSONPatchType
		merge    = types.MergePatchType
		smp      = types.StrategicMergePatchType
		apply    = types.ApplyYAMLPatchType
	)
	yes := true
	for name, tc := range map[string]struct {
		req     patch.Request
		code    int32
		reason  metav1.StatusReason
		message string // a part of it
	}{
		"unknown type":      {patch.Request{Type: "text/plain"}, 415, metav1.StatusReasonUnsupportedMediaType, "accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml"},
		"garbage json":      {patch.Request{Type: jsonType, Body: []byte(`{`)}, 400, metav1.StatusReasonBadRequest, "invalid JSON patch"},
		"garbage merge":     {patch.Request{Type: merge, Body: []byte(`[]`)}, 400, metav1.StatusReasonBadRequest, "error decoding patch: "},
		"garbage unchecked": {patch.Request{Type: merge, Body: []byte(`{`), FieldValidation: "Ignore"}, 400, metav1.StatusReasonBadRequest, "invalid JSON patch"},
		"garbage strategic": {patch.Request{Type: smp, Body: []byte(`7`)}, 400, metav1.StatusReasonBadRequest, "cannot unmarshal number"},
		"garbage apply":     {patch.Request{Type: apply, Body: []byte("\t:"), FieldManager: "me"}, 400, metav1.StatusReasonBadRequest, "error decoding patch: "},
		"failed test":       {patch.Request{Type: jsonType, Body: []byte(`[{"op":"test","path":"/metadata/name","value":"x"}]`)}, 422, metav1.StatusReasonInvalid, "the server rejected our request due to an error in our request"},
		"missing path":      {patch.Request{Type: jsonType, Body: []byte(`[{"op":"remove","path":"/nope"}]`)}, 422, metav1.StatusReasonInvalid, "the server rejected our request"},
		"too many":          {patch.Request{Type: jsonType, Body: []byte("[" + strings.Repeat(`{"op":"test","path":""},`, 10000) + `{"op":"test","path":""}]`)}, 413, metav1.StatusReasonRequestEntityTooLarge, "is 10000, got 10001"},
		"wrong type":        {patch.Request{Type: merge, Body: []byte(`{"spec":{"ports":"x"}}`)}, 422, metav1.StatusReasonInvalid, `"" is invalid: patch: Invalid value: `},
		"strict":            {patch.Request{Type: merge, Body: []byte(`{"spec":{"bogus":1,"type":"a","type":"b"}}`), FieldValidation: "Strict"}, 422, metav1.StatusReasonInvalid, `strict decoding error: duplicate field "spec.type", unknown field "spec.bogus"`},
		"strict strategic":  {patch.Request{Type: smp, Body: []byte(`{"spec":{"bogus":1}}`), FieldValidation: "Strict"}, 422, metav1.StatusReasonInvalid, `patch: Invalid value: "map[spec:map[bogus:1]]": strict decoding error: unknown field "spec.bogus"`},
		"strict operation":  {patch.Request{Type: jsonType, Body: []byte(`[{"op":"test","path":"/metadata/name","value":"web","x":1}]`), FieldValidation: "Strict"}, 422, metav1.StatusReasonInvalid, `json patch unknown field "[0].x"`},
		"strict apply":      {patch.Request{Type: apply, Body: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: a, type: b}"), FieldManager: "me", FieldValidation: "Strict"}, 400, metav1.StatusReasonBadRequest, `error strict decoding patch: `},
		"undeclared field":  {patch.Request{Type: apply, Body: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {bogus: 1}"), FieldManager: "me"}, 500, "", `.spec.bogus: field not declared in schema`},
		"no manager":        {patch.Request{Type: apply, Body: []byte(`{}`)}, 422, metav1.StatusReasonInvalid, "fieldManager: Required value: is required for apply patch"},
		"force":             {patch.Request{Type: merge, Body: []byte(`{}`), Force: &yes}, 422, metav1.StatusReasonInvalid, "force: Forbidden: may not be specified for non-apply patch"},
		"bad validation":    {patch.Request{Type: merge, Body: []byte(`{}`), FieldValidation: "Maybe"}, 422, metav1.StatusReasonInvalid, `fieldValidation: Unsupported value: "Maybe"`},
		"rename":            {patch.Request{Type: merge, Body: []byte(`{"metadata":{"name":"x"}}`)}, 400, metav1.StatusReasonBadRequest, "the name of the object (x) does not match the name on the URL (web)"},
		"no name":           {patch.Request{Type: merge, Body: []byte(`{"metadata":{"name":null}}`)}, 400, metav1.StatusReasonBadRequest, "undeterminable"},
		"move":              {patch.Request{Type: merge, Body: []byte(`{"metadata":{"namespace":"x"}}`)}, 400, metav1.StatusReasonBadRequest, "the namespace of the provided object does not match the namespace sent on the request"},
		"wrong version":     {patch.Request{Type: apply, Body: []byte("apiVersion: v2\nkind: Service"), FieldManager: "me"}, 400, metav1.StatusReasonBadRequest, "invalid object type: /v2, Kind=Service"},
		"managed fields":    {patch.Request{Type: apply, Body: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: web, managedFields: [{manager: x}]}"), FieldManager: "me"}, 400, metav1.StatusReasonBadRequest, "metadata.managedFields must be nil"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.req.Name, tc.req.Namespace = "web", "shop"
			_, _, err := builtin(t, "Service", "").Patch(webService(), tc.req)
			s := status(t, err)
			require.Equal(t, tc.code, s.Code, s.Message)
			require.Equal(t, tc.reason, s.Reason)
			require.Contains(t, s.Message, tc.message)
		})
	}
}

func TestPatch_WarnsOfUnknownAndDuplicateFields(t *testing.T) {
	p := builtin(t, "Service", "")
	for _, v := range []string{"", "Warn"} {
		out, warnings, err := p.Patch(webService(), patch.Request{Type: types.MergePatchType, FieldValidation: v,
			Body: []byte(`{"spec":{"bogus":1,"type":"NodePort","type":"ClusterIP"}}`)})
		require.NoError(t, err)
		require.Equal(t, []string{`duplicate field "spec.type"`, `unknown field "spec.bogus"`}, warnings)
		require.Equal(t, corev1.ServiceTypeClusterIP, out.(*corev1.Service).Spec.Type)
	}
	_, warnings, err := p.Patch(webService(), patch.Request{Type: types.StrategicMergePatchType, Body: []byte(`{"spec":{"bogus":1}}`)})
	require.NoError(t, err)
	require.Equal(t, []string{`unknown field "spec.bogus"`}, warnings)
	_, warnings, err = p.Patch(webService(), patch.Request{Type: types.MergePatchType, FieldValidation: "Ignore", Body: []byte(`{"spec":{"bogus":1}}`)})
	require.NoError(t, err)
	require.Empty(t, warnings)
}

func TestPatch_MissingObjectIsNotFoundExceptForApply(t *testing.T) {
	p := builtin(t, "Service", "")
	_, _, err := p.Patch(nil, patch.Request{Type: types.MergePatchType, Body: []byte(`{}`), Name: "web", Namespace: "shop"})
	require.True(t, apierrors.IsNotFound(err))
	require.Equal(t, `services "web" not found`, err.Error())

	body := "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}"
	out, _, err := p.Patch(nil, patch.Request{Type: types.ApplyYAMLPatchType, Body: []byte(body), FieldManager: "me", Name: "web", Namespace: "shop"})
	require.NoError(t, err)
	svc := out.(*corev1.Service)
	require.Equal(t, "shop", svc.Namespace, "from the URL")
	require.Len(t, svc.ManagedFields, 1)
	require.Equal(t, metav1.ManagedFieldsOperationApply, svc.ManagedFields[0].Operation)

	body = "apiVersion: v1\nkind: Service\nmetadata: {name: web, uid: gone}"
	_, _, err = p.Patch(nil, patch.Request{Type: types.ApplyYAMLPatchType, Body: []byte(body), FieldManager: "me", Name: "web", Namespace: "shop"})
	require.True(t, apierrors.IsConflict(err))
	require.ErrorContains(t, err, "uid mismatch: the provided object specified uid gone, and no existing object was found")
}

func applyWeb(spec, manager string, force bool) patch.Request {
	return patch.Request{Type: types.ApplyYAMLPatchType, FieldManager: manager, Force: &force, Name: "web", Namespace: "shop",
		Body: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: " + spec)}
}

func TestPatch_ApplyStory(t *testing.T) {
	p := builtin(t, "Service", "")
	alices, _, err := p.Patch(nil, applyWeb(`{type: ClusterIP, ports: [{port: 80, name: http}, {port: 443, name: https}]}`, "alice", false))
	require.NoError(t, err)
	alices.(*corev1.Service).UID = "1"

	// Bob wants another type: a conflict that names the field and its owner.
	_, _, err = p.Patch(alices, applyWeb(`{type: NodePort}`, "bob", false))
	require.True(t, apierrors.IsConflict(err))
	require.Equal(t, `Apply failed with 1 conflict: conflict with "alice": .spec.type`, err.Error())
	require.Equal(t, []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "alice"`, Field: ".spec.type"}}, status(t, err).Details.Causes)

	// By force it becomes his; and he adds a port of his own beside Alice's.
	bobs, _, err := p.Patch(alices, applyWeb(`{type: NodePort, ports: [{port: 9090, name: metrics}]}`, "bob", true))
	require.NoError(t, err)
	svc := bobs.(*corev1.Service)
	require.Equal(t, corev1.ServiceTypeNodePort, svc.Spec.Type)
	require.Len(t, svc.Spec.Ports, 3)
	require.Len(t, svc.ManagedFields, 2)

	// What Alice leaves out the next time is removed, Bob's port stays.
	after, _, err := p.Patch(bobs, applyWeb(`{ports: [{port: 80, name: http}]}`, "alice", false))
	require.NoError(t, err)
	var ports []int32
	for _, port := range after.(*corev1.Service).Spec.Ports {
		ports = append(ports, port.Port)
	}
	require.ElementsMatch(t, []int32{80, 9090}, ports)

	// A plain update takes a field over, so that Alice conflicts with its manager.
	edited := after.DeepCopyObject().(*corev1.Service)
	for i := range edited.Spec.Ports {
		if edited.Spec.Ports[i].Port == 80 {
			edited.Spec.Ports[i].Name = "web"
		}
	}
	tracked := p.Track(after, edited, "kubectl-edit")
	_, _, err = p.Patch(tracked, applyWeb(`{ports: [{port: 80, name: http}]}`, "alice", false))
	require.ErrorContains(t, err, `conflict with "kubectl-edit" using v1: .spec.ports[port=80,protocol="TCP"].name`)
}

func TestPatch_NoChangeKeepsTheOldTimestamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := builtin(t, "Service", "")
		first, _, err := p.Patch(nil, applyWeb(`{type: ClusterIP}`, "alice", false))
		require.NoError(t, err)
		first.(*corev1.Service).UID = "1"
		<-time.After(time.Hour)
		again, _, err := p.Patch(first, applyWeb(`{type: ClusterIP}`, "alice", false))
		require.NoError(t, err)
		require.Equal(t, first, again)
		again.(*corev1.Service).ManagedFields[0].Manager = "mallory"
		require.Equal(t, "alice", first.(*corev1.Service).ManagedFields[0].Manager, "the result is the caller's to change")

		// An empty map is applied, owned, and not there in the Go type: to the library that is a change each time.
		empty, _, err := p.Patch(first, applyWeb(`{type: ClusterIP, selector: {}}`, "alice", false))
		require.NoError(t, err)
		<-time.After(time.Hour)
		again, _, err = p.Patch(empty, applyWeb(`{type: ClusterIP, selector: {}}`, "alice", false))
		require.NoError(t, err)
		require.Equal(t, empty, again)

		changed, _, err := p.Patch(first, applyWeb(`{type: NodePort}`, "alice", false))
		require.NoError(t, err)
		require.Equal(t, 2*time.Hour, changed.(*corev1.Service).ManagedFields[0].Time.Sub(first.(*corev1.Service).ManagedFields[0].Time.Time))

		same := p.Track(changed, changed.DeepCopyObject(), "somebody")
		require.Equal(t, changed, same)
	})
}

func TestTrack_CreateAndStatusAreOwnedApart(t *testing.T) {
	created := builtin(t, "Service", "").Track(nil, webService(), "kubectl-create").(*corev1.Service)
	require.Len(t, created.ManagedFields, 1)
	require.Equal(t, "kubectl-create", created.ManagedFields[0].Manager)
	require.Equal(t, "v1", created.ManagedFields[0].APIVersion)

	withStatus := created.DeepCopy()
	withStatus.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	viaMain := builtin(t, "Service", "").Track(created, withStatus.DeepCopy(), "somebody").(*corev1.Service)
	require.Len(t, viaMain.ManagedFields, 1, "status is not the main resource's to own")
	viaStatus := builtin(t, "Service", "status").Track(created, withStatus.DeepCopy(), "lb").(*corev1.Service)
	require.Len(t, viaStatus.ManagedFields, 2)
	require.Equal(t, "status", viaStatus.ManagedFields[1].Subresource)
	require.JSONEq(t, `{"f:status":{"f:loadBalancer":{"f:ingress":{}}}}`, string(viaStatus.ManagedFields[1].FieldsV1.GetRawBytes()))
}

func TestManagerName_IsTheParameterElseTheProgram(t *testing.T) {
	require.Equal(t, "me", patch.ManagerName("me", "kubectl/v1.32"))
	require.Equal(t, "kubectl", patch.ManagerName("", "kubectl/v1.32 (linux/amd64)"))
	require.Equal(t, "ab", patch.ManagerName("", "a\nb"))
	require.Equal(t, "", patch.ManagerName("", ""))
	require.Len(t, patch.ManagerName("", strings.Repeat("ä", 100)), 128)
}

func TestDecode_ReadsBodiesAndRefusesOthers(t *testing.T) {
	p := builtin(t, "Service", "")
	for name, tc := range map[string]struct {
		body, contentType, validation string
		warnings                      []string
		err                           string
	}{
		"json":            {`{"apiVersion":"v1","kind":"Service","spec":{"type":"NodePort"}}`, "application/json", "Strict", nil, ""},
		"yaml":            {"apiVersion: v1\nkind: Service\nspec: {type: NodePort}", "application/yaml; charset=utf-8", "Strict", nil, ""},
		"kind left out":   {`{"spec":{"type":"NodePort"}}`, "", "", nil, ""},
		"unknown warned":  {`{"spec":{"type":"NodePort","x":1}}`, "", "", []string{`unknown field "spec.x"`}, ""},
		"unknown ignored": {`{"spec":{"type":"NodePort","x":1}}`, "", "Ignore", nil, ""},
		"unknown strict":  {`{"apiVersion":"v1","kind":"Service","spec":{"x":1}}`, "", "Strict", nil, `Service in version "v1" cannot be handled as a Service: strict decoding error: unknown field "spec.x"`},
		"duplicate yaml":  {"spec: {type: NodePort, type: NodePort}", "application/yaml", "Strict", nil, `key "type" already set in map`},
		"wrong type":      {`{"spec":{"ports":[{"port":"x"}]}}`, "", "", nil, `Service in version "v1" cannot be handled as a Service: json: cannot unmarshal string into Go struct field ServicePort.spec.ports.port of type int32`},
		"wrong kind":      {`{"apiVersion":"v1","kind":"Pod"}`, "", "", nil, `Pod in version "v1" cannot be handled as a Service`},
		"wrong version":   {`{"apiVersion":"v2","kind":"Service"}`, "", "", nil, `Service in version "v2" cannot be handled as a Service: the request is for Service in v1, the body holds Service in v2`},
		"no kind":         {`{"apiVersion":"v1","spec":{"type":"NodePort"}}`, "", "", nil, ""},
		"no version":      {`{"kind":"Service","spec":{"type":"NodePort"}}`, "", "", nil, ""},
		"empty":           {"", "", "", nil, "json parse error: unexpected end of JSON input (<empty>)"},
		"garbage":         {`{"apiVersion":"v1","kind":"Service","spec":`, "", "", nil, `the object provided is unrecognized (must be of type Service): couldn't get version/kind; json parse error: unexpected end of JSON input ({"apiVersion":"v1","kind":"Ser ...)`},
		"media type":      {`{}`, "text/html", "", nil, "the body of the request was in an unknown format"},
	} {
		t.Run(name, func(t *testing.T) {
			obj, warnings, err := p.Decode([]byte(tc.body), tc.contentType, tc.validation)
			if tc.err != "" {
				require.Contains(t, status(t, err).Message, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.warnings, warnings)
			require.Equal(t, corev1.ServiceTypeNodePort, obj.(*corev1.Service).Spec.Type)
			require.Equal(t, "v1", obj.(*corev1.Service).APIVersion)
		})
	}
}

func TestPatch_DefaultsDecodedAndPatchedObjects(t *testing.T) {
	calls := 0
	p := patch.New(patch.Kind{GVK: corev1.SchemeGroupVersion.WithKind("Service"), Resource: "services",
		New:     func() runtime.Object { return &corev1.Service{} },
		Default: func(obj runtime.Object) { calls++; obj.(*corev1.Service).Spec.SessionAffinity = "None" }})
	obj, _, err := p.Decode([]byte(`{}`), "", "")
	require.NoError(t, err)
	require.Equal(t, corev1.ServiceAffinity("None"), obj.(*corev1.Service).Spec.SessionAffinity)
	for i, req := range []patch.Request{
		{Type: types.MergePatchType, Body: []byte(`{}`)}, {Type: types.JSONPatchType, Body: []byte(`[]`)},
		{Type: types.StrategicMergePatchType, Body: []byte(`{}`)}, applyWeb(`{type: NodePort}`, "me", false),
	} {
		out, _, err := p.Patch(webService(), req)
		require.NoError(t, err)
		require.Equal(t, corev1.ServiceAffinity("None"), out.(*corev1.Service).Spec.SessionAffinity)
		require.Equal(t, i+2, calls)
	}
}
