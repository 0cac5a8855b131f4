package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"glasswatch/internal/apiserver/apiservertest"
)

// T is the part of a test that a check needs, so that TestWire_FindsAlteredServers can replace it by a recorder.
type T interface {
	require.TestingT
	Helper()
	Cleanup(func())
}

// target is a running server, whose history begins after version 1.
type target struct {
	config *rest.Config
	client *http.Client
	shards bool // its feature gate ShardedListAndWatch is on
}

func newTarget(t T, config *rest.Config) *target {
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return &target{config: config, client: client}
}

// server is a target as one check sees it: with a namespace of its own.
type server struct {
	*target
	t  T
	ns string
}

// ancient is a resourceVersion that every server has forgotten.
const ancient = "1"

// patience is how long a check waits for anything. On an altered server it may wait in vain.
const patience = time.Minute

var namespaces atomic.Int64

// serve gives a check its server.
func (x *target) serve(t T) *server {
	s := &server{target: x, t: t}
	s.ns = s.newNamespace()
	return s
}

func (s *server) newNamespace() string {
	name := fmt.Sprintf("wire-%d", namespaces.Add(1))
	s.post("/api/v1/namespaces", "metadata: {name: "+name+"}").want(201)
	return name
}

// roots are the paths of the resources that checks use, without their namespaces.
var roots = map[string]string{
	"configmaps": "/api/v1", "services": "/api/v1", "pods": "/api/v1", "events": "/api/v1", "secrets": "/api/v1",
	"persistentvolumeclaims": "/api/v1", "replicationcontrollers": "/api/v1", "deployments": "/apis/apps/v1", "statefulsets": "/apis/apps/v1",
	"replicasets": "/apis/apps/v1", "daemonsets": "/apis/apps/v1", "jobs": "/apis/batch/v1", "cronjobs": "/apis/batch/v1",
	"rolebindings": "/apis/rbac.authorization.k8s.io/v1", "poddisruptionbudgets": "/apis/policy/v1", "horizontalpodautoscalers": "/apis/autoscaling/v2", "ingresses": "/apis/networking.k8s.io/v1", "leases": "/apis/coordination.k8s.io/v1",
}

// path is that of a resource in the check's namespace, of an object in it, or of a subresource of that.
func (s *server) path(resource string, more ...string) string { return pathIn(s.ns, resource, more...) }

func pathIn(namespace, resource string, more ...string) string {
	return strings.Join(append([]string{roots[resource], "namespaces", namespace, resource}, more...), "/")
}

// all is the path of a resource across namespaces.
func all(resource string) string { return roots[resource] + "/" + resource }

// response is what came back for a request.
type response struct {
	t      T
	what   string // the request, for messages
	code   int
	proto  int // major version of HTTP
	header http.Header
	body   []byte
}

// do sends a request as it is; headers are "Name: value".
func (s *server) do(method, path, body string, headers ...string) *response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp := s.send(ctx, method, path, body, headers)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err, "%s %s", method, path)
	return &response{s.t, method + " " + path, resp.StatusCode, resp.ProtoMajor, resp.Header, content}
}

// send sends a request, and sends it again while the server puts it off, as clients do: what has just been defined is 429
// until the server has read it into its watch cache.
func (s *server) send(ctx context.Context, method, path, body string, headers []string) (resp *http.Response) {
	s.t.Helper()
	err := apiservertest.Within(ctx, patience, func() error {
		var err error
		resp, err = s.client.Do(s.request(ctx, method, path, body, headers))
		require.NoError(s.t, err, "%s %s", method, path)
		if resp.StatusCode != http.StatusTooManyRequests {
			return nil
		}
		defer resp.Body.Close()
		content, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("429: %s", content)
	})
	require.NoError(s.t, err, "%s %s", method, path)
	return resp
}

func (s *server) request(ctx context.Context, method, path, body string, headers []string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, s.config.Host+path, strings.NewReader(body))
	require.NoError(s.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		req.Header.Set(name, strings.TrimSpace(value))
	}
	return req
}

// asJSON lets checks write their bodies in YAML.
func (s *server) asJSON(body string) string {
	if body == "" {
		return ""
	}
	out, err := yaml.YAMLToJSON([]byte(body))
	require.NoError(s.t, err)
	return string(out)
}

func (s *server) get(path string, headers ...string) *response {
	return s.do("GET", path, "", headers...)
}

// post, put and delete take YAML and send JSON.
func (s *server) post(path, body string) *response   { return s.do("POST", path, s.asJSON(body)) }
func (s *server) put(path, body string) *response    { return s.do("PUT", path, s.asJSON(body)) }
func (s *server) delete(path, body string) *response { return s.do("DELETE", path, s.asJSON(body)) }

const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

// patch takes YAML and sends JSON, which is YAML, too.
func (s *server) patch(path, contentType, body string) *response {
	return s.do("PATCH", path, s.asJSON(body), "Content-Type: "+contentType)
}

// configMaps creates ConfigMaps with some data and returns the last one.
func (s *server) configMaps(names ...string) (last *response) {
	s.t.Helper()
	for _, name := range names {
		last = s.post(s.path("configmaps"), "{metadata: {name: "+name+"}, data: {k: v}}").want(201)
	}
	return last
}

// eventually polls until a condition holds.
func (s *server) eventually(what string, holds func() bool) {
	s.t.Helper()
	err := apiservertest.Within(context.Background(), patience, func() error {
		if !holds() {
			return errors.New(what)
		}
		return nil
	})
	require.NoError(s.t, err)
}

// gone waits for an object to be gone.
func (s *server) gone(path string) {
	s.t.Helper()
	s.eventually(path+" is gone", func() bool { return s.get(path).code == 404 })
}

// want asserts the status code.
func (r *response) want(code int) *response {
	r.t.Helper()
	require.Equal(r.t, code, r.code, "%s: %s", r.what, r.body)
	return r
}

func (r *response) into(v any) {
	r.t.Helper()
	require.NoError(r.t, json.Unmarshal(r.body, v), "%s: %s", r.what, r.body)
}

// meta is the metadata of an object.
func (r *response) meta() *metav1.PartialObjectMetadata {
	r.t.Helper()
	out := &metav1.PartialObjectMetadata{}
	r.into(out)
	return out
}

func (r *response) version() string { r.t.Helper(); return r.meta().ResourceVersion }

// list is the metadata of a list and of its items.
func (r *response) list() *metav1.PartialObjectMetadataList {
	r.t.Helper()
	out := &metav1.PartialObjectMetadataList{}
	r.want(200).into(out)
	return out
}

// names are those of a list's items in their order.
func (r *response) names() []string {
	r.t.Helper()
	out := []string{}
	for _, item := range r.list().Items {
		out = append(out, item.Name)
	}
	return out
}

// at is what the JSON body has at a path, nil if nothing.
func (r *response) at(path ...string) any {
	r.t.Helper()
	out := map[string]any{}
	r.into(&out)
	value, _, err := unstructured.NestedFieldNoCopy(out, path...)
	require.NoError(r.t, err, "%s: %s", r.what, r.body)
	return value
}

// warnings are the texts of the Warning headers.
func (r *response) warnings() []string { return r.header.Values("Warning") }

// fails asserts that the answer is this Status. A message that ends in "…" is the beginning of one.
func (r *response) fails(code int, reason metav1.StatusReason, message string) *metav1.Status {
	r.t.Helper()
	r.want(code)
	status := &metav1.Status{}
	r.into(status)
	failed(r.t, status, reason, message)
	require.EqualValues(r.t, code, status.Code)
	return status
}

func failed(t T, status *metav1.Status, reason metav1.StatusReason, message string) {
	t.Helper()
	require.Equal(t, metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, status.TypeMeta)
	require.Equal(t, metav1.StatusFailure, status.Status)
	require.Equal(t, reason, status.Reason, status.Message)
	if start, open := strings.CutSuffix(message, "…"); open {
		require.True(t, strings.HasPrefix(status.Message, start), "want %q…, got %q", start, status.Message)
		return
	}
	require.Equal(t, message, status.Message)
}

// causes are those of a Status as "type field: message".
func causes(status *metav1.Status) []string {
	out := []string{}
	if status.Details != nil {
		for _, c := range status.Details.Causes {
			out = append(out, fmt.Sprintf("%s %s: %s", c.Type, c.Field, c.Message))
		}
	}
	slices.Sort(out)
	return out
}

// details asserts name, group and kind of a Status's details.
func details(t T, status *metav1.Status, name, group, kind string) {
	t.Helper()
	require.NotNil(t, status.Details, status.Message)
	got := status.Details
	require.Equal(t, [3]string{name, group, kind}, [3]string{got.Name, got.Group, got.Kind})
}

// compact is JSON without blanks, for comparisons.
func compact(t T, raw []byte) string {
	var out bytes.Buffer
	require.NoError(t, json.Compact(&out, raw), "%s", raw)
	return out.String()
}
