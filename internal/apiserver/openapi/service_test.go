package openapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/spec3"

	"glasswatch/internal/apiserver/openapi"
	"glasswatch/internal/apiserver/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func widget(version string, props map[string]apiextensionsv1.JSONSchemaProps) *resource.Info {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Widget"}
	return &resource.Info{GVK: gvk, GVR: gvk.GroupVersion().WithResource("widgets"), ListKind: "WidgetList", Namespaced: true, Status: true,
		Custom: &resource.Custom{Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: props}}}
}

func sized(kind string) map[string]apiextensionsv1.JSONSchemaProps {
	return map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"size": {Type: kind, Nullable: true, Description: "How big it is."},
		"port": {XIntOrString: true, AnyOf: []apiextensionsv1.JSONSchemaProps{{Type: "integer"}, {Type: "string"}}},
	}}}
}

// shared serves the built-ins and a widget to the tests that only read; building its documents takes most of their time.
var shared = sync.OnceValue(func() *openapi.Service { return service(widget("v1", sized("integer"))) })

func service(extra ...*resource.Info) *openapi.Service {
	s := &openapi.Service{Version: "v1.37.2"}
	s.Update(append(resource.Builtins(), extra...))
	return s
}

// start serves s over HTTP and returns a discovery client of it.
func start(t *testing.T, s *openapi.Service) *discovery.DiscoveryClient {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client, err := discovery.NewDiscoveryClientForConfigAndClient(&rest.Config{Host: server.URL}, &http.Client{Transport: transport})
	require.NoError(t, err)
	return client
}

func get(t testing.TB, s http.Handler, path, accept string) *http.Response {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, path, nil)
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	return w.Result()
}

func spec(t *testing.T, s *openapi.Service, gv schema.GroupVersion) *spec3.OpenAPI {
	t.Helper()
	doc, err := openapi3.NewRoot(start(t, s).OpenAPIV3()).GVSpec(gv)
	require.NoError(t, err)
	return doc
}

func TestService_EveryReferenceOfEveryDocumentResolves(t *testing.T) {
	s := shared()
	docs := map[string]string{"/openapi/v2": "#/definitions/"}
	for _, info := range append(resource.Builtins(), widget("v1", nil)) {
		docs["/openapi/v3/"+openapi.GroupVersionPath(info.GVR.GroupVersion())] = "#/components/schemas/"
	}
	require.Greater(t, len(docs), 15)
	for path, prefix := range docs {
		resp := get(t, s, path, "application/json")
		require.Equal(t, 200, resp.StatusCode, path)
		var doc map[string]any
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&doc))
		known, _ := doc["definitions"].(map[string]any)
		if known == nil {
			known = doc["components"].(map[string]any)["schemas"].(map[string]any)
		}
		require.NotEmpty(t, known)
		seen := 0
		walk(doc, func(ref string) {
			seen++
			name, ok := strings.CutPrefix(ref, prefix)
			require.True(t, ok, ref)
			require.Contains(t, known, name, path)
		})
		require.Greater(t, seen, 10, path)
	}
}

// walk calls found with every $ref in a document.
func walk(v any, found func(ref string)) {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			found(ref)
		}
		for _, child := range v {
			walk(child, found)
		}
	case []any:
		for _, child := range v {
			walk(child, found)
		}
	}
}

func TestService_EveryDocumentHasAProtobufForm(t *testing.T) {
	s := shared()
	v2, err := start(t, s).OpenAPISchema() // asks for protobuf
	require.NoError(t, err)
	require.Equal(t, "2.0", v2.Swagger)
	require.Greater(t, len(v2.Definitions.AdditionalProperties), 400)

	for _, path := range []string{"api/v1", "apis/apps/v1", "apis/networking.k8s.io/v1", "apis/apiextensions.k8s.io/v1", "apis/example.com/v1"} {
		resp := get(t, s, "/openapi/v3/"+path, "application/com.github.proto-openapi.spec.v3@v1.0+protobuf")
		require.Equal(t, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf", resp.Header.Get("Content-Type"))
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		doc := &openapi_v3.Document{}
		require.NoError(t, proto.Unmarshal(body, doc))
		require.NotEmpty(t, doc.Paths.Path, path)
	}
}

// This is how kubectl decides whether the server validates fields: by the parameters of the kind's PATCH operation.
func TestService_PatchOperationsNameTheirParameters(t *testing.T) {
	s := shared()
	for _, gvk := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "Namespace"}, {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, {Group: "example.com", Version: "v1", Kind: "Widget"},
	} {
		found := 0
		for path, item := range spec(t, s, gvk.GroupVersion()).Paths.Paths {
			if item.Patch == nil || strings.HasSuffix(path, "/status") {
				continue
			}
			var ext schema.GroupVersionKind
			require.NoError(t, item.Patch.Extensions.GetObject("x-kubernetes-group-version-kind", &ext))
			if ext != gvk {
				continue
			}
			found++
			var names []string
			for _, p := range item.Patch.Parameters {
				names = append(names, p.In+":"+p.Name)
			}
			require.Equal(t, []string{"query:dryRun", "query:fieldManager", "query:fieldValidation", "query:force"}, names)
		}
		require.Equal(t, 1, found, gvk)
	}
}

func TestService_SchemasTellHowListsMerge(t *testing.T) {
	doc := spec(t, shared(), schema.GroupVersion{Version: "v1"})
	serviceSchema := doc.Components.Schemas["io.k8s.api.core.v1.Service"]
	require.NotNil(t, serviceSchema)
	ports := doc.Components.Schemas["io.k8s.api.core.v1.ServiceSpec"].Properties["ports"]
	require.Equal(t, "merge", ports.Extensions["x-kubernetes-patch-strategy"])
	require.Equal(t, "port", ports.Extensions["x-kubernetes-patch-merge-key"])
	require.Equal(t, "array", ports.Type[0])
	require.Contains(t, ports.Description, "The list of ports that are exposed by this service")

	// As kubectl apply does it: a three-way merge by the published schema.
	meta := strategicpatch.PatchMetaFromOpenAPIV3{SchemaList: doc.Components.Schemas, Schema: serviceSchema}
	patch, err := strategicpatch.CreateThreeWayMergePatch(
		[]byte(`{"spec":{"ports":[{"port":80,"name":"a"},{"port":81,"name":"b"}]}}`),
		[]byte(`{"spec":{"ports":[{"port":80,"name":"c"}]}}`),
		[]byte(`{"spec":{"ports":[{"port":80,"name":"a"},{"port":81,"name":"b"},{"port":82,"name":"other"}]}}`), meta, true)
	require.NoError(t, err)
	require.JSONEq(t, `{"spec":{"$setElementOrder/ports":[{"port":80}],"ports":[{"name":"c","port":80},{"$patch":"delete","port":81}]}}`, string(patch))
}

func TestService_SchemasOfTypesThatEncodeThemselves(t *testing.T) {
	schemas := spec(t, shared(), schema.GroupVersion{Version: "v1"}).Components.Schemas
	asJSON := func(name string) string {
		s := *schemas[name]
		s.Description = ""
		b, err := json.Marshal(s)
		require.NoError(t, err)
		return string(b)
	}
	require.JSONEq(t, `{"type":"string","format":"date-time"}`, asJSON("io.k8s.apimachinery.pkg.apis.meta.v1.Time"))
	require.JSONEq(t, `{"format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]}`, asJSON("io.k8s.apimachinery.pkg.util.intstr.IntOrString"))
	require.JSONEq(t, `{"oneOf":[{"type":"string"},{"type":"number"}]}`, asJSON("io.k8s.apimachinery.pkg.api.resource.Quantity"))
	require.JSONEq(t, `{"type":"object"}`, asJSON("io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"))
	data := schemas["io.k8s.api.core.v1.Secret"].Properties["data"]
	require.Equal(t, "byte", data.AdditionalProperties.Schema.Format)
	port := schemas["io.k8s.api.core.v1.ServicePort"]
	require.Equal(t, []string{"port"}, port.Required)
	require.Equal(t, "int32", port.Properties["port"].Format)
	target := port.Properties["targetPort"]
	require.Equal(t, "#/components/schemas/io.k8s.apimachinery.pkg.util.intstr.IntOrString", target.AllOf[0].Ref.String())
	require.Contains(t, schemas["io.k8s.api.core.v1.Service"].Properties, "apiVersion", "inlined")
	require.Contains(t, schemas["io.k8s.api.core.v1.Volume"].Properties, "configMap", "inlined")
	require.Equal(t, []any{map[string]any{"group": "", "version": "v1", "kind": "Service"}}, schemas["io.k8s.api.core.v1.Service"].Extensions["x-kubernetes-group-version-kind"])
}

func TestService_CustomResourcesHaveTheirSchema(t *testing.T) {
	s := shared()
	doc := spec(t, s, schema.GroupVersion{Group: "example.com", Version: "v1"})
	model := doc.Components.Schemas["com.example.v1.Widget"]
	size := model.Properties["spec"].Properties["size"]
	require.Equal(t, "How big it is.", size.Description)
	require.True(t, size.Nullable)
	meta := model.Properties["metadata"]
	require.Equal(t, "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", meta.Ref.String())
	require.Contains(t, doc.Components.Schemas, "com.example.v1.WidgetList")
	require.Contains(t, doc.Paths.Paths, "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status")

	resp := get(t, s, "/openapi/v2", "application/json")
	var v2 struct {
		Definitions map[string]struct{ Properties map[string]json.RawMessage }
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&v2))
	require.NotContains(t, string(v2.Definitions["com.example.v1.Widget"].Properties["spec"]), "anyOf", "v2 has no such word")
}

func index(t *testing.T, s *openapi.Service) map[string]string {
	t.Helper()
	var body struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	require.NoError(t, json.NewDecoder(get(t, s, "/openapi/v3", "").Body).Decode(&body))
	out := map[string]string{}
	for path, p := range body.Paths {
		out[path] = p.ServerRelativeURL
	}
	return out
}

func TestService_HashesChangeWithTheirGroupVersionOnly(t *testing.T) {
	s := service(widget("v1", sized("integer")))
	before := index(t, s)
	require.Contains(t, before, "api/v1")
	require.Contains(t, before, "apis/example.com/v1")

	s.Update(append(resource.Builtins(), widget("v1", sized("integer"))))
	require.Equal(t, before, index(t, s), "the same resources again")

	s.Update(append(resource.Builtins(), widget("v1", sized("string"))))
	after := index(t, s)
	require.NotEqual(t, before["apis/example.com/v1"], after["apis/example.com/v1"])
	before["apis/example.com/v1"] = after["apis/example.com/v1"]
	require.Equal(t, before, after)

	s.Update(resource.Builtins())
	require.NotContains(t, index(t, s), "apis/example.com/v1")
	require.Equal(t, 404, get(t, s, "/openapi/v3/apis/example.com/v1", "").StatusCode)
}

func TestService_HTTP(t *testing.T) {
	s := shared()
	resp := get(t, s, "/openapi/v3/apis/apps/v1?hash=old", "")
	require.Equal(t, 301, resp.StatusCode)
	require.Equal(t, index(t, s)["apis/apps/v1"], resp.Header.Get("Location"))

	resp = get(t, s, resp.Header.Get("Location"), "application/json")
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "public, immutable", resp.Header.Get("Cache-Control"))
	require.NotEmpty(t, resp.Header.Get("Expires"))

	req := httptest.NewRequest(http.MethodGet, "/openapi/v3/apis/apps/v1", nil)
	req.Header.Set("If-None-Match", resp.Header.Get("Etag"))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	require.Equal(t, 304, w.Code)

	require.Equal(t, 406, get(t, s, "/openapi/v2", "text/html").StatusCode)
	require.Equal(t, "application/json", get(t, s, "/openapi/v2", "text/html, */*;q=0.1").Header.Get("Content-Type"))
	require.Equal(t, 404, get(t, s, "/openapi/v4", "").StatusCode)
	require.Equal(t, 404, get(t, &openapi.Service{}, "/openapi/v2", "").StatusCode)
	w = httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/openapi/v2", nil))
	require.Equal(t, 405, w.Code)
}

func TestService_RequestsAndUpdatesTogether(t *testing.T) {
	s := service()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { get(t, s, "/openapi/v3/apis/apps/v1", "application/json") })
		wg.Go(func() { s.Update(append(resource.Builtins(), widget("v"+string(rune('1'+i)), nil))) })
		wg.Go(func() { get(t, s, "/openapi/v3", "") })
	}
	wg.Wait()
	require.Len(t, index(t, s), len(index(t, service()))+1)
}

func BenchmarkService_BuildsOnDemand(b *testing.B) {
	for _, ask := range []struct{ path, accept string }{
		{"/openapi/v3", ""}, {"/openapi/v3/api/v1", ""}, {"/openapi/v3/apis/networking.k8s.io/v1", ""},
		{"/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"},
	} {
		b.Run(strings.TrimPrefix(ask.path, "/openapi/"), func(b *testing.B) {
			for b.Loop() {
				get(b, service(), ask.path, ask.accept)
			}
		})
	}
}
