package apiserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/apiserver/resource"
)

const (
	acceptTable   = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	acceptPartial = "Accept: application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
)

func TestWire_AnswersInTheFormThatIsAskedFor(t *testing.T) {
	c := start(t, apiserver.Options{})
	const path = "/api/v1/namespaces/default/services"
	for _, test := range []struct {
		accept, path, contentType, contains string
		code                                int
	}{
		{"", path + "/kubernetes", "application/json", `{"kind":"Service","apiVersion":"v1"`, 200},
		{"Accept: */*", path, "application/json", `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"6"},"items":[{"metadata":`, 200},
		{"Accept: application/yaml", path + "/kubernetes", "application/yaml", "apiVersion: v1\nkind: Service\n", 200},
		{"Accept: application/vnd.kubernetes.protobuf", path + "/kubernetes", "application/vnd.kubernetes.protobuf", "k8s\x00", 200},
		{"Accept: application/json;q=0.1, application/yaml", path + "/kubernetes", "application/yaml", "kind: Service", 200},
		{"Accept: text/html, application/json", path, "application/json", "ServiceList", 200},
		{"Accept: text/html", path, "application/json", `406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf`, 406},
		{acceptTable, path, "application/json", `"cells":["kubernetes","ClusterIP","10.96.0.1","\u003cnone\u003e","443/TCP",`, 200},
		{acceptTable, path + "/kubernetes", "application/json", `"kind":"Table"`, 200},
		{acceptTable, path + "/missing", "application/json", `"reason":"NotFound"`, 404},
		{acceptPartial, path + "/kubernetes", "application/json", `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"kubernetes"`, 200},
		{"Accept: application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", path, "application/json", `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"6"},"items":[{`, 200},
		{"", path + "/kubernetes?pretty=true", "application/json", "{\n  \"kind\": \"Service\"", 200},
		{"Accept: application/vnd.kubernetes.protobuf", path + "/missing", "application/vnd.kubernetes.protobuf", "k8s\x00", 404},
	} {
		headers := []string{}
		if test.accept != "" {
			headers = append(headers, test.accept)
		}
		got := c.raw("GET", test.path, "", headers...)
		require.Equal(t, test.code, got.code, "%s %s: %s", test.accept, test.path, got.body)
		require.Equal(t, test.contentType, got.header.Get("Content-Type"), test.accept)
		require.Contains(t, got.body, test.contains)
	}
}

func TestWire_TakesYAMLAndProtobuf(t *testing.T) {
	c := start(t, apiserver.Options{})
	const path = "/api/v1/namespaces/default/configmaps"
	got := c.raw("POST", path, "metadata: {name: a}\ndata: {k: v}\n", "Content-Type: application/yaml")
	require.Equal(t, 201, got.code, got.body)
	require.Contains(t, got.body, `"data":{"k":"v"}`)
	got = c.raw("POST", path, "k8s\x00garbage", "Content-Type: application/vnd.kubernetes.protobuf")
	require.Equal(t, 400, got.code, got.body)
	got = c.raw("POST", path, strings.Repeat(" ", 4<<20), "Content-Type: application/json")
	require.Equal(t, 413, got.code)
}

func TestWire_ProtobufWatchesCarryEveryKindOfEvent(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		services := c.clientset(runtime.ContentTypeProtobuf).CoreV1().Services("default")
		w, err := services.Watch(c.Context(), streaming(""))
		require.NoError(t, err)
		defer w.Stop()
		expect(t, w, "ADDED kubernetes")
		mark := expect(t, w, "BOOKMARK").Object.(*corev1.Service)
		require.Contains(t, mark.Annotations, metav1.InitialEventsAnnotationKey)
		obj := c.create("a")
		require.Equal(t, obj, expect(t, w, "ADDED a").Object)
		c.Faults().ExpireWatches()
		require.Equal(t, metav1.StatusReasonExpired, expect(t, w, "ERROR").Object.(*metav1.Status).Reason)
		expect(t, w, "end")
	})
}

func TestWire_MetadataClientsSeeBuiltInAndCustomResources(t *testing.T) {
	c := start(t, apiserver.Options{})
	_, err := c.dynamic().Resource(definitions).Create(c.Context(), parse(t, widgetDefinition), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.dynamic().Resource(widgets).Namespace("default").Create(c.Context(), widget(t, "{size: 1}"), metav1.CreateOptions{})
	require.NoError(t, err)
	client, err := metadata.NewForConfig(c.Config)
	require.NoError(t, err)
	for gvr, name := range map[schema.GroupVersionResource]string{widgets: "a", {Version: "v1", Resource: "services"}: "kubernetes"} {
		list, err := client.Resource(gvr).Namespace("default").List(c.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, name, list.Items[0].Name)
		w, err := client.Resource(gvr).Namespace("default").Watch(c.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		e := <-w.ResultChan()
		require.Equal(t, watch.Added, e.Type)
		require.Equal(t, name, e.Object.(*metav1.PartialObjectMetadata).Name)
		w.Stop()
	}
	got := c.raw("GET", "/apis/example.org/v1/widgets", "", "Accept: application/vnd.kubernetes.protobuf")
	require.Equal(t, 406, got.code)
}

func TestWire_DiscoveryTellsWhatIsServed(t *testing.T) {
	c := start(t, apiserver.Options{})
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	require.NoError(t, err)
	groups, aggregated, failed, err := client.GroupsAndMaybeResources()
	require.NoError(t, err)
	require.Empty(t, failed)
	legacy := client.WithLegacy()
	_, lists, err := legacy.ServerGroupsAndResources()
	require.NoError(t, err)

	served := map[schema.GroupVersionResource]metav1.APIResource{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for _, r := range list.APIResources {
			served[gv.WithResource(r.Name)] = r
		}
		for _, r := range aggregated[gv].APIResources {
			one := served[gv.WithResource(r.Name)]
			require.Equal(t, one.Kind, r.Kind)
			require.Equal(t, one.Namespaced, r.Namespaced)
			require.Equal(t, one.Verbs, r.Verbs)
			require.Equal(t, one.ShortNames, r.ShortNames)
		}
		require.Len(t, aggregated[gv].APIResources, len(list.APIResources))
	}
	for _, info := range resource.Builtins() {
		r := served[info.GVR]
		require.Equal(t, info.GVK.Kind, r.Kind, info.GVR)
		require.Equal(t, info.Namespaced, r.Namespaced)
		_, hasStatus := served[info.GVR.GroupVersion().WithResource(info.GVR.Resource+"/status")]
		require.Equal(t, info.Status, hasStatus)
	}
	require.Greater(t, len(groups.Groups), 10)

	v, err := client.ServerVersion()
	require.NoError(t, err)
	require.Equal(t, "1", v.Major)
	require.Equal(t, "37", v.Minor)
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		require.Equal(t, "ok", c.raw("GET", path, "").body)
	}
	require.Equal(t, 404, c.raw("GET", "/apis/nothing.example.com", "").code)
	require.Equal(t, 404, c.raw("GET", "/api/v1/nothings", "").code)
	require.Equal(t, 404, c.raw("GET", "/api/v1/namespaces/default/services/kubernetes/nothing/at/all", "").code)
	require.Equal(t, 405, c.raw("PUT", "/api/v1/namespaces/default/services", "{}").code)
	require.Contains(t, c.raw("GET", "/", "").body, `"/apis/networking.k8s.io/v1"`)
}

func TestWire_OpenAPIDescribesWhatIsServed(t *testing.T) {
	c := start(t, apiserver.Options{})
	paths := func() map[string]any {
		var index struct{ Paths map[string]any }
		require.NoError(t, json.Unmarshal([]byte(c.raw("GET", "/openapi/v3", "").body), &index))
		return index.Paths
	}
	require.Contains(t, paths(), "api/v1")
	require.NotContains(t, paths(), "apis/example.org/v1")
	_, err := c.dynamic().Resource(definitions).Create(c.Context(), parse(t, widgetDefinition), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Contains(t, paths(), "apis/example.org/v1")
}

func TestWire_EventsAreOneResourceInTwoGroups(t *testing.T) {
	c := start(t, apiserver.Options{})
	cs := c.clientset(runtime.ContentTypeProtobuf)
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "web.1"},
		InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "default", Name: "web"},
		Reason:         "Bad", Message: "no port", Type: corev1.EventTypeWarning, Source: corev1.EventSource{Component: "me"}, Count: 2,
	}
	w, err := cs.EventsV1().Events("default").Watch(c.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	_, err = cs.CoreV1().Events("default").Create(c.Context(), event, metav1.CreateOptions{})
	require.NoError(t, err)
	seen := (<-w.ResultChan()).Object.(*eventsv1.Event)
	require.Equal(t, "no port", seen.Note)
	require.Equal(t, "Service", seen.Regarding.Kind)
	require.EqualValues(t, 2, seen.DeprecatedCount)

	seen.DeprecatedCount = 3
	_, err = cs.EventsV1().Events("default").Update(c.Context(), seen, metav1.UpdateOptions{})
	require.NoError(t, err)
	list, err := cs.CoreV1().Events("default").List(c.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=web,reason=Bad,type=Warning"})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.EqualValues(t, 3, list.Items[0].Count)
	require.Equal(t, "no port", list.Items[0].Message)
	require.Equal(t, "me", list.Items[0].Source.Component)
	for selector, count := range map[string]int{"regarding.name=web,reason=Bad": 1, "regarding.name=other": 0} {
		some, err := cs.EventsV1().Events("default").List(c.Context(), metav1.ListOptions{FieldSelector: selector})
		require.NoError(t, err)
		require.Len(t, some.Items, count, selector)
	}
	list, err = cs.CoreV1().Events("default").List(c.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name!=web"})
	require.NoError(t, err)
	require.Empty(t, list.Items)
}

func TestServe_WorksOnALoopbackAddressAndEndsWithItsContext(t *testing.T) {
	c := &cluster{apiservertest.StartOnSocket(t, apiserver.Options{})}
	require.Len(t, c.list(metav1.ListOptions{}).Items, 1)
	require.Equal(t, c.Config.Host, c.RESTConfig().Host)
	body := c.stream()
	c.Stop()
	_, err := body.Read(make([]byte, 1))
	require.Error(t, err)
}
