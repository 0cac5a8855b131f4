package apiserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a served Server with clients.
type cluster struct{ *apiservertest.Server }

// start serves a server on a pipe until the test ends.
func start(t testing.TB, options apiserver.Options) *cluster {
	return &cluster{apiservertest.Start(t, options)}
}

// clientset speaks the given content type: "" is JSON.
func (c *cluster) clientset(contentType string) kubernetes.Interface {
	config := rest.CopyConfig(c.Config)
	config.ContentType = contentType
	if contentType == runtime.ContentTypeProtobuf {
		config.AcceptContentTypes = contentType
	}
	cs, err := kubernetes.NewForConfig(config)
	require.NoError(c, err)
	return cs
}

func (c *cluster) dynamic() dynamic.Interface {
	d, err := dynamic.NewForConfig(c.Config)
	require.NoError(c, err)
	return d
}

// answer is what came back for a raw request.
type answer struct {
	code   int
	header http.Header
	body   string
}

func (a answer) status(t testing.TB) metav1.Status {
	var s metav1.Status
	require.NoError(t, json.Unmarshal([]byte(a.body), &s), a.body)
	require.Equal(t, "Status", s.Kind, a.body)
	return s
}

// raw sends a request; headers are "Name: value".
func (c *cluster) raw(method, path, body string, headers ...string) answer {
	client, err := rest.HTTPClientFor(c.Config)
	require.NoError(c, err)
	req, err := http.NewRequestWithContext(c.Context(), method, c.Config.Host+path, strings.NewReader(body))
	require.NoError(c, err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	require.NoError(c, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	require.NoError(c, err)
	return answer{resp.StatusCode, resp.Header, string(content)}
}

// services are those of the default namespace, over JSON.
func (c *cluster) services() typedcore.ServiceInterface {
	return c.clientset("").CoreV1().Services("default")
}

// create makes services with ports and returns the last one.
func (c *cluster) create(names ...string) *corev1.Service {
	var made *corev1.Service
	for _, name := range names {
		var err error
		made, err = c.services().Create(c.Context(), service(name), metav1.CreateOptions{})
		require.NoError(c, err)
	}
	return made
}

// open starts a watch on the services of the default namespace.
func (c *cluster) open(opts metav1.ListOptions) watch.Interface {
	w, err := c.services().Watch(c.Context(), opts)
	require.NoError(c, err)
	c.Cleanup(w.Stop)
	return w
}

// expect reads one event per line, such as "ADDED web", "BOOKMARK", "ERROR" or "end".
func expect(t testing.TB, w watch.Interface, lines ...string) (last watch.Event) {
	t.Helper()
	for _, want := range lines {
		var got string
		select {
		case e, ok := <-w.ResultChan():
			got, last = describe(e, ok), e
		case <-time.After(time.Hour): // virtual time, or the test's own limit
			got = "nothing"
		}
		require.Equal(t, want, got)
	}
	return last
}

func describe(e watch.Event, ok bool) string {
	if !ok {
		return "end"
	}
	line := string(e.Type)
	if o, isObject := e.Object.(metav1.Object); isObject && e.Type != watch.Bookmark {
		line += " " + o.GetName()
	}
	return line
}

var counter atomic.Int32

// randomName and the others give values that were not given before.
func randomName() string  { return strconv.Itoa(int(counter.Add(1))) }
func randomNumber() int32 { return 1000 + counter.Add(1) }
func randomPort() string  { return strconv.Itoa(int(randomNumber())) }
