package resume

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch"
)

const jsonType = runtime.ContentTypeJSON

var servicesGVR = schema.GroupVersionResource{Version: "v1", Resource: "services"}

func serviceV1(name, resourceVersion string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: resourceVersion}}
}

// answer is a handler that sends the same body to everyone.
func answer(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	}
}

// serve starts a server and returns a config for it.
func serve(t testing.TB, handler http.Handler) *rest.Config {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := server.Client().Transport
	t.Cleanup(server.Client().CloseIdleConnections)
	return &rest.Config{Host: server.URL, Transport: transport, QPS: -1}
}

func servicesOf(t testing.TB, cfg *rest.Config, opts listwatch.Options) *listwatch.Client[*corev1.Service] {
	client, err := listwatch.NewForConfig[*corev1.Service](cfg, servicesGVR, opts)
	require.NoError(t, err)
	return client
}
