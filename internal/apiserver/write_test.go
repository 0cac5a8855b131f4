package apiserver_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"glasswatch/internal/apiserver"
)

func ingress(name, host string) *networkingv1.Ingress {
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
			Host: host,
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
				Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix),
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
					Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}},
			}}}},
		}}},
	}
}

func TestCreate_RefusesWhatARealServerRefuses(t *testing.T) {
	c := start(t, apiserver.Options{})
	c.create("taken")
	post := func(path, body string) answer { return c.raw("POST", path, body, "Content-Type: application/json") }
	const services, port = "/api/v1/namespaces/default/services", `"spec":{"ports":[{"port":80}]}`
	for _, test := range []struct {
		path, body string
		code       int
		message    string
	}{
		{services, `{"metadata":{"name":"taken"},` + port + `}`, 409, `services "taken" already exists`},
		{services, `{"metadata":{"name":"a","namespace":"other"},` + port + `}`, 400, "the namespace of the provided object does not match the namespace sent on the request"},
		{"/api/v1/namespaces/missing/services", `{"metadata":{"name":"a"},` + port + `}`, 404, `namespaces "missing" not found`},
		{services, `{"metadata":{"name":"No_Good"},` + port + `}`, 422, `Service "No_Good" is invalid: metadata.name: Invalid value: "No_Good": a lowercase RFC 1123 label must consist of`},
		{services, `{"metadata":{},` + port + `}`, 422, "metadata.name: Required value: name or generateName is required"},
		{services, `{"metadata":{"name":"a"},"spec":{}}`, 422, "spec.ports: Required value"},
		{services, `{"kind":"Pod","apiVersion":"v1"}`, 400, "Pod in version \"v1\" cannot be handled as a Service"},
		{services, `{"metadata":{"name":"a","resourceVersion":"5"},` + port + `}`, 500, "resourceVersion should not be set on objects to be created"},
		{services + "?fieldValidation=Strict", `{"metadata":{"name":"a"},"spec":{"prots":1,"ports":[{"port":80}]}}`, 400, `strict decoding error: unknown field "spec.prots"`},
		{services, `not json`, 400, ""},
		{"/api/v1/services", `{}`, 405, ""},
		{"/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"rules":[{"host":"NO","http":{"paths":[{"path":"x","backend":{}}]}}]}}`, 422,
			"[spec.rules[0].host: Invalid value: \"NO\": a lowercase RFC 1123 subdomain must consist of"},
		{"/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"rules":[{"http":{"paths":[{"path":"/","backend":{"service":{"name":"a","port":{"number":80}}}}]}}]}}`, 422,
			"spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"},
		{"/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"rules":[{"host":"010.0.0.1"}]}}`, 422,
			`spec.rules[0].host: Invalid value: "010.0.0.1": must be a DNS name, not an IP address`},
		{"/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"rules":[{"http":{"paths":[{"path":"/a//b","pathType":"Prefix","backend":{"service":{"name":"a","port":{"number":80}}}}]}}]}}`, 422,
			`spec.rules[0].http.paths[0].path: Invalid value: "/a//b": must not contain '//'`},
		{"/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"rules":[{"http":{"paths":[{"path":"/a/./b","pathType":"Prefix","backend":{"service":{"name":"a","port":{"number":80}}}}]}}]}}`, 422,
			`spec.rules[0].http.paths[0].path: Invalid value: "/a/./b": must not contain '/./'`},
		{"/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"rules":[{"http":{"paths":[{"path":"/a/../b","pathType":"Prefix","backend":{"service":{"name":"a","port":{"number":80}}}}]}}]}}`, 422,
			`spec.rules[0].http.paths[0].path: Invalid value: "/a/../b": must not contain '/../'`},
		{"/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"rules":[{"http":{"paths":[{"path":"/a%2fb","pathType":"Prefix","backend":{"service":{"name":"a","port":{"number":80}}}}]}}]}}`, 422,
			`spec.rules[0].http.paths[0].path: Invalid value: "/a%2fb": must not contain '%2f'`},
		{"/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"rules":[{"http":{"paths":[{"path":"/a/..","pathType":"Prefix","backend":{"service":{"name":"a","port":{"number":80}}}}]}}]}}`, 422,
			`spec.rules[0].http.paths[0].path: Invalid value: "/a/..": cannot end with '/..'`},
		{"/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"rules":[{"http":{"paths":[{"path":"/.","pathType":"Prefix","backend":{"service":{"name":"a","port":{"number":80}}}}]}}]}}`, 422,
			`spec.rules[0].http.paths[0].path: Invalid value: "/.": cannot end with '/.'`},
	} {
		got := post(test.path, test.body)
		require.Equal(t, test.code, got.code, "%s %s: %s", test.path, test.body, got.body)
		require.Contains(t, got.status(t).Message, test.message)
	}
	require.Equal(t, 415, c.raw("POST", services, "x", "Content-Type: text/plain").code)
	got := post(services+"?fieldValidation=Warn", `{"metadata":{"name":"warned"},"spec":{"prots":1,"ports":[{"port":80}]}}`)
	require.Equal(t, 201, got.code)
	require.Equal(t, `299 - "unknown field \"spec.prots\""`, got.header.Get("Warning"))
}

func TestCreate_MakesUpNames(t *testing.T) {
	c := start(t, apiserver.Options{})
	seen := map[string]bool{}
	for range 20 {
		obj := service("")
		obj.GenerateName = "web-"
		made, err := c.services().Create(c.Context(), obj, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Regexp(t, "^web-[a-z0-9]{5}$", made.Name)
		require.False(t, seen[made.Name])
		seen[made.Name] = true
	}
}

func TestCreate_GivesWhatOnlyTheServerMayGive(t *testing.T) {
	c := start(t, apiserver.Options{})
	obj := ingress("a", "example.com")
	obj.UID, obj.Generation, obj.DeletionTimestamp = "mine", 7, ptr.To(metav1.Now())
	obj.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "1.2.3.4"}}
	made, err := c.clientset("").NetworkingV1().Ingresses("default").Create(c.Context(), obj, metav1.CreateOptions{FieldManager: "me"})
	require.NoError(t, err)
	require.NotEqual(t, types.UID("mine"), made.UID)
	require.EqualValues(t, 1, made.Generation)
	require.Nil(t, made.DeletionTimestamp)
	require.Empty(t, made.Status.LoadBalancer.Ingress)
	require.Equal(t, "me", made.ManagedFields[0].Manager)
	require.Zero(t, c.create("b").Generation, "not every kind counts")
}

func TestWrite_ADryRunLeavesNoTrace(t *testing.T) {
	c := start(t, apiserver.Options{})
	obj := c.create("a")
	before := c.Revision()
	dry := []string{metav1.DryRunAll}
	made, err := c.services().Create(c.Context(), service("b"), metav1.CreateOptions{DryRun: dry})
	require.NoError(t, err)
	require.NotEmpty(t, made.UID)
	obj.Labels = map[string]string{"x": "y"}
	got, err := c.services().Update(c.Context(), obj, metav1.UpdateOptions{DryRun: dry})
	require.NoError(t, err)
	require.Equal(t, "y", got.Labels["x"])
	_, err = c.services().Patch(c.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"z"}}}`), metav1.PatchOptions{DryRun: dry})
	require.NoError(t, err)
	require.NoError(t, c.services().Delete(c.Context(), "a", metav1.DeleteOptions{DryRun: dry}))
	require.Equal(t, before, c.Revision())
}

func TestUpdate_SpecAndStatusHaveDoorsOfTheirOwn(t *testing.T) {
	c := start(t, apiserver.Options{})
	ingresses := c.clientset("").NetworkingV1().Ingresses("default")
	obj, err := ingresses.Create(c.Context(), ingress("a", "example.com"), metav1.CreateOptions{})
	require.NoError(t, err)

	obj.Spec.Rules[0].Host = "other.com"
	obj.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "1.2.3.4"}}
	both := obj.DeepCopy()
	obj, err = ingresses.Update(c.Context(), obj, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "other.com", obj.Spec.Rules[0].Host)
	require.Empty(t, obj.Status.LoadBalancer.Ingress)
	require.EqualValues(t, 2, obj.Generation)

	both.ResourceVersion = obj.ResourceVersion
	both.Spec.Rules[0].Host = "third.com"
	obj, err = ingresses.UpdateStatus(c.Context(), both, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "other.com", obj.Spec.Rules[0].Host)
	require.Len(t, obj.Status.LoadBalancer.Ingress, 1)
	require.EqualValues(t, 2, obj.Generation)

	obj.Labels = map[string]string{"a": "b"}
	obj, err = ingresses.Update(c.Context(), obj, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, obj.Generation, "labels are not counted")
	require.Len(t, obj.Status.LoadBalancer.Ingress, 1)
}

func TestUpdate_ThatChangesNothingIsNoWrite(t *testing.T) {
	c := start(t, apiserver.Options{})
	obj := c.create("a")
	before := c.Revision()
	got, err := c.services().Update(c.Context(), obj, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, obj, got)
	_, err = c.services().Patch(c.Context(), "a", types.StrategicMergePatchType, []byte(`{"spec":{"ports":[{"port":80,"name":"http"}]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, before, c.Revision())
}

func TestUpdate_ChecksVersionAndUID(t *testing.T) {
	c := start(t, apiserver.Options{})
	obj := c.create("a")
	obj.Labels = map[string]string{"x": "1"}
	newer, err := c.services().Update(c.Context(), obj, metav1.UpdateOptions{})
	require.NoError(t, err)

	obj.Labels["x"] = "2"
	_, err = c.services().Update(c.Context(), obj, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), "%v", err)

	obj.ResourceVersion = ""
	obj, err = c.services().Update(c.Context(), obj, metav1.UpdateOptions{})
	require.NoError(t, err, "without a version it wins")
	require.Equal(t, "2", obj.Labels["x"])

	newer.UID, newer.ResourceVersion = "other", ""
	_, err = c.services().Update(c.Context(), newer, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), "%v", err)

	missing := c.raw("PUT", "/api/v1/namespaces/default/configmaps/a", `{"metadata":{"name":"a"}}`, "Content-Type: application/json")
	require.Equal(t, 404, missing.code)
	got := c.raw("PUT", "/api/v1/namespaces/default/services/a", `{"metadata":{"name":"b"}}`, "Content-Type: application/json")
	require.Equal(t, 400, got.code)
	require.Equal(t, "the name of the object (b) does not match the name on the URL (a)", got.status(t).Message)
}

func TestPatch_OfAnotherUIDIsInvalid(t *testing.T) {
	c := start(t, apiserver.Options{})
	c.create("a")
	for kind, body := range map[types.PatchType]string{
		types.MergePatchType:          `{"metadata":{"uid":"other"}}`,
		types.StrategicMergePatchType: `{"metadata":{"uid":"other"}}`,
		types.JSONPatchType:           `[{"op":"replace","path":"/metadata/uid","value":"other"}]`,
		types.ApplyPatchType:          `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","uid":"other"}}`,
	} {
		_, err := c.services().Patch(c.Context(), "a", kind, []byte(body), metav1.PatchOptions{FieldManager: "x"})
		require.True(t, apierrors.IsInvalid(err), "%s: %v", kind, err)
		require.ErrorContains(t, err, "metadata.uid: Invalid value: \"other\": field is immutable")
	}
	_, err := c.services().Patch(c.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"uid":"other","resourceVersion":"1"}}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsConflict(err), "the version is looked at first: %v", err)
}

func TestUpdate_OfManyAtOnceLosesNothing(t *testing.T) {
	c := start(t, apiserver.Options{})
	c.create("a")
	var writers sync.WaitGroup
	const each, clients = 10, 4
	for w := range clients {
		writers.Go(func() {
			services := c.services()
			for range each {
				if w%2 == 0 { // a patch needs no retry
					_, err := services.Patch(c.Context(), "a", types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/ports/-","value":{"name":"p`+
						string(rune('a'+w))+"-"+randomName()+`","port":`+randomPort()+`}}]`), metav1.PatchOptions{})
					assert.NoError(t, err)
					continue
				}
				err := error(apierrors.NewConflict(schema.GroupResource{}, "", nil))
				for apierrors.IsConflict(err) {
					var obj *corev1.Service
					obj, err = services.Get(c.Context(), "a", metav1.GetOptions{})
					if !assert.NoError(t, err) {
						return
					}
					obj.Spec.Ports = append(obj.Spec.Ports, corev1.ServicePort{Name: "q" + randomName(), Port: randomNumber()})
					_, err = services.Update(c.Context(), obj, metav1.UpdateOptions{})
				}
				assert.NoError(t, err)
			}
		})
	}
	writers.Wait()
	obj, err := c.services().Get(c.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Len(t, obj.Spec.Ports, 1+each*clients)
}

func TestPatch_EveryKindOfPatchWorks(t *testing.T) {
	c := start(t, apiserver.Options{})
	c.create("a")
	patch := func(kind types.PatchType, body string) *corev1.Service {
		got, err := c.services().Patch(c.Context(), "a", kind, []byte(body), metav1.PatchOptions{FieldManager: "me"})
		require.NoError(t, err)
		return got
	}
	require.Len(t, patch(types.StrategicMergePatchType, `{"spec":{"ports":[{"name":"admin","port":81}]}}`).Spec.Ports, 2, "merged by port")
	require.Len(t, patch(types.MergePatchType, `{"spec":{"ports":[{"name":"admin","port":81}]}}`).Spec.Ports, 1, "replaced")
	require.EqualValues(t, 82, patch(types.JSONPatchType, `[{"op":"replace","path":"/spec/ports/0/port","value":82}]`).Spec.Ports[0].Port)

	_, err := c.services().Patch(c.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1"}}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	_, err = c.services().Patch(c.Context(), "missing", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = c.services().Patch(c.Context(), "a", "text/plain", []byte(`{}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsUnsupportedMediaType(err), "%v", err)
}

func TestApply_CreatesThenOwnsAndQuarrels(t *testing.T) {
	c := start(t, apiserver.Options{})
	config := func(port int32) *applycore.ServiceApplyConfiguration {
		return applycore.Service("a", "default").WithSpec(applycore.ServiceSpec().
			WithPorts(applycore.ServicePort().WithName("http").WithPort(80).WithNodePort(port)).WithType(corev1.ServiceTypeNodePort))
	}
	got := c.raw("PATCH", "/api/v1/namespaces/default/services/b?fieldManager=me", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"b"},"spec":{"ports":[{"port":80}]}}`,
		"Content-Type: application/apply-patch+yaml")
	require.Equal(t, 201, got.code, got.body)

	made, err := c.services().Apply(c.Context(), config(30001), metav1.ApplyOptions{FieldManager: "one"})
	require.NoError(t, err)
	require.NotEmpty(t, made.UID)
	_, err = c.services().Apply(c.Context(), config(30002), metav1.ApplyOptions{FieldManager: "two"})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	forced, err := c.services().Apply(c.Context(), config(30002), metav1.ApplyOptions{FieldManager: "two", Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 30002, forced.Spec.Ports[0].NodePort)

	stranger := config(30002).WithUID("other")
	_, err = c.services().Apply(c.Context(), stranger, metav1.ApplyOptions{FieldManager: "two", Force: true})
	require.True(t, apierrors.IsInvalid(err), "an apply that carries a uid is for that object only: %v", err)
	missing := applycore.Service("missing", "default").WithUID("other").WithSpec(config(30003).Spec)
	_, err = c.services().Apply(c.Context(), missing, metav1.ApplyOptions{FieldManager: "two", Force: true})
	require.True(t, apierrors.IsConflict(err), "%v", err)
}

func TestService_GetsAddressesAndKeepsThem(t *testing.T) {
	c := start(t, apiserver.Options{})
	obj := c.create("a")
	other := c.create("b")
	require.NotEqual(t, obj.Spec.ClusterIP, other.Spec.ClusterIP)
	update := service("a")
	update.Spec.Ports[0].Port = 81
	got, err := c.services().Update(c.Context(), update, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, obj.Spec.ClusterIP, got.Spec.ClusterIP)
	require.EqualValues(t, 81, got.Spec.Ports[0].TargetPort.IntVal)

	headless := service("h")
	headless.Spec.ClusterIP = corev1.ClusterIPNone
	got, err = c.services().Create(c.Context(), headless, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{corev1.ClusterIPNone}, got.Spec.ClusterIPs)

	got.Spec.Type, got.Spec.ExternalName, got.Spec.ClusterIP, got.Spec.ClusterIPs = corev1.ServiceTypeExternalName, "a.example.com", "", nil
	got, err = c.services().Update(c.Context(), got, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Empty(t, got.Spec.ClusterIP)
}

func TestService_LosesItsNodePortsWithItsType(t *testing.T) {
	c := start(t, apiserver.Options{})
	c.create("a")
	patched := func(body string) corev1.ServiceSpec {
		got, err := c.services().Patch(c.Context(), "a", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		require.NoError(t, err)
		return got.Spec
	}
	spec := patched(`{"spec":{"type":"LoadBalancer"}}`)
	require.NotZero(t, spec.Ports[0].NodePort)
	require.NotEmpty(t, spec.ExternalTrafficPolicy)
	spec = patched(`{"spec":{"type":"ClusterIP"}}`)
	require.Zero(t, spec.Ports[0].NodePort)
	require.Empty(t, spec.ExternalTrafficPolicy)
	require.Nil(t, spec.AllocateLoadBalancerNodePorts)
}

func TestUpdate_WithoutAVersionIsRefusedForSomeKinds(t *testing.T) {
	c := start(t, apiserver.Options{})
	for path, want := range map[string]struct {
		made, updated int
		body          string
	}{
		"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices": {201, 200, `{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[]}`},
		"/apis/scheduling.k8s.io/v1/priorityclasses":                  {201, 200, `{"metadata":{"name":"a"},"value":7}`},
		"/apis/coordination.k8s.io/v1/namespaces/default/leases":      {201, 422, `{"metadata":{"name":"a"}}`},
		"/apis/policy/v1/namespaces/default/poddisruptionbudgets":     {201, 422, `{"metadata":{"name":"a"}}`},
	} {
		got := c.raw("POST", path, want.body, "Content-Type: application/json")
		require.Equal(t, want.made, got.code, got.body)
		got = c.raw("PUT", path+"/a", want.body, "Content-Type: application/json")
		require.Equal(t, want.updated, got.code, got.body)
	}
}

func TestJob_GetsASelectorOfItsOwn(t *testing.T) {
	c := start(t, apiserver.Options{})
	jobs := c.clientset("").BatchV1().Jobs("default")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "task"}}
	job.Spec.Template.Labels = map[string]string{"app": "task"}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}
	made, err := jobs.Create(t.Context(), job, metav1.CreateOptions{})
	require.NoError(t, err)
	uid := string(made.UID)
	require.Equal(t, map[string]string{"batch.kubernetes.io/controller-uid": uid}, made.Spec.Selector.MatchLabels)
	require.Equal(t, map[string]string{"app": "task", "batch.kubernetes.io/controller-uid": uid, "controller-uid": uid,
		"batch.kubernetes.io/job-name": "task", "job-name": "task"}, made.Spec.Template.Labels)
	require.Equal(t, made.Spec.Template.Labels, made.Labels)
	require.EqualValues(t, 1, *made.Spec.Completions)

	job.Name, job.Spec.ManualSelector, job.Spec.Selector = "other", new(true), &metav1.LabelSelector{MatchLabels: job.Spec.Template.Labels}
	job.Spec.Parallelism = new(int32(2))
	made, err = jobs.Create(t.Context(), job, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, job.Spec.Selector, made.Spec.Selector)
	require.Equal(t, job.Spec.Template.Labels, made.Spec.Template.Labels)
	require.Nil(t, made.Spec.Completions, "one that succeeds is enough")
}
