package checkpoint

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
)

var configMapsGVR = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// kube is a real API server, and what it was asked for by those who list and watch through lw.
type kube struct {
	*testing.T
	server *apiserver.Server
	cfg    *rest.Config
	client kubernetes.Interface

	mu    sync.Mutex // protects asked
	asked []string   // "list" or "watch", by clients made with lw
}

// onKube tells a story with an API server in virtual time.
func onKube(t *testing.T, tell func(k *kube)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		server, listener := apiserver.New(apiserver.Options{}), apiserver.NewPipeListener()
		stopped := make(chan error, 1)
		go func() { stopped <- server.Serve(ctx, listener) }()
		defer func() { cancel(); <-stopped }()
		cfg := server.RESTConfigFor(listener)
		client, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		tell(&kube{T: t, server: server, cfg: cfg, client: client})
	})
}

// noting notes lists and watches.
func (k *kube) noting(next http.RoundTripper) http.RoundTripper {
	return roundTripFunc(func(req *http.Request) (*http.Response, error) {
		verb := "list"
		if query := req.URL.Query(); query.Get("sendInitialEvents") != "" {
			verb = "streaming list"
		} else if query.Get("watch") != "" {
			verb = "watch"
		} else if query.Get("limit") == "1" {
			verb = "one" // of however many there are: a look at the server's version
		}
		k.mu.Lock()
		k.asked = append(k.asked, verb)
		k.mu.Unlock()
		return next.RoundTrip(req)
	})
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Asked returns what was asked for since the last call.
func (k *kube) Asked() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	asked := k.asked
	k.asked = nil
	return asked
}

// ConfigMaps lists and watches those of the default namespace.
func (k *kube) ConfigMaps(opts listwatch.Options) *listwatch.Client[*config] {
	k.Helper()
	cfg := rest.CopyConfig(k.cfg)
	cfg.Wrap(k.noting)
	opts.Namespace = "default"
	lw, err := listwatch.NewForConfig[*config](cfg, configMapsGVR, opts)
	require.NoError(k, err)
	return lw
}

// Create makes a ConfigMap and returns its resourceVersion.
func (k *kube) Create(name, value string, labels map[string]string) string {
	k.Helper()
	obj, err := k.client.CoreV1().ConfigMaps("default").Create(k.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: map[string]string{"value": value},
	}, metav1.CreateOptions{})
	require.NoError(k, err)
	return obj.ResourceVersion
}

func (k *kube) Update(name, value string) string {
	k.Helper()
	maps := k.client.CoreV1().ConfigMaps("default")
	obj, err := maps.Get(k.Context(), name, metav1.GetOptions{})
	require.NoError(k, err)
	obj.Data = map[string]string{"value": value}
	obj, err = maps.Update(k.Context(), obj, metav1.UpdateOptions{})
	require.NoError(k, err)
	return obj.ResourceVersion
}

func (k *kube) Delete(name string) {
	k.Helper()
	require.NoError(k, k.client.CoreV1().ConfigMaps("default").Delete(k.Context(), name, metav1.DeleteOptions{}))
}

// Run runs an informer until the returned function is called, which waits for its end.
func (k *kube) Run(informer *Informer[*config]) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- informer.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		require.NoError(k, <-done)
	})
}

// pass lets virtual time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// values are the objects of a store by name.
func values(informer *Informer[*config]) map[string]string {
	out := map[string]string{}
	for key, obj := range informer.Store().All() {
		out[key.Name] = obj.Data["value"]
	}
	return out
}
