package listwatch

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	restfake "k8s.io/client-go/rest/fake"
)

// askBoth lists and watches once and returns both requests.
func askBoth[T Object](t *testing.T, asked *requests, client *Client[T], opts metav1.ListOptions) (list, watch *http.Request) {
	_, _ = client.List(t.Context(), opts)
	list = asked.last()
	stream, err := client.Watch(t.Context(), opts)
	require.NoError(t, err)
	require.NoError(t, stream.Close())
	return list, asked.last()
}

func TestClient_AsksForWhatItWasTold(t *testing.T) {
	var asked requests
	cfg := serve(t, asked.wrap(answer(jsonType, nil)))
	cfg.Host += "/proxy"
	cfg.UserAgent = "walkthrough/1"
	cfg.BearerToken = "secret"
	cfg.Impersonate.UserName = "jane"
	transport := cfg.Transport
	cfg.Transport, cfg.WrapTransport = nil, func(http.RoundTripper) http.RoundTripper { return transport }

	client, err := NewForConfig[*appsv1.Deployment](cfg, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Options{Namespace: "shop", LabelSelector: "app=cart", FieldSelector: "metadata.name!=x"})
	require.NoError(t, err)
	seconds, yes := int64(60), true
	list, watch := askBoth(t, &asked, client, metav1.ListOptions{
		LabelSelector: "tier in (a,b)", FieldSelector: "metadata.name!=y", ResourceVersion: "7", ResourceVersionMatch: "NotOlderThan",
		Limit: 500, Continue: "token", TimeoutSeconds: &seconds, AllowWatchBookmarks: true, SendInitialEvents: &yes,
	})
	for _, r := range []*http.Request{list, watch} {
		assert.Equal(t, "/proxy/apis/apps/v1/namespaces/shop/deployments", r.URL.Path)
		assert.Equal(t, "walkthrough/1", r.UserAgent())
		assert.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
		assert.Equal(t, "jane", r.Header.Get("Impersonate-User"))
		assert.Equal(t, "application/vnd.kubernetes.protobuf, application/json;q=0.9", r.Header.Get("Accept"))
		assert.Equal(t, "app=cart,tier in (a,b)", r.URL.Query().Get("labelSelector"))
		assert.Equal(t, "metadata.name!=x,metadata.name!=y", r.URL.Query().Get("fieldSelector"))
		for name, want := range map[string]string{"resourceVersion": "7", "resourceVersionMatch": "NotOlderThan", "limit": "500",
			"continue": "token", "timeoutSeconds": "60", "allowWatchBookmarks": "true", "sendInitialEvents": "true"} {
			assert.Equal(t, want, r.URL.Query().Get(name), name)
		}
	}
	assert.Empty(t, list.URL.Query().Get("watch"))
	assert.Equal(t, "true", watch.URL.Query().Get("watch"))

	// The zero options ask for nothing in particular.
	plain, err := NewForConfig[*corev1.Node](cfg, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, Options{})
	require.NoError(t, err)
	list, watch = askBoth(t, &asked, plain, metav1.ListOptions{})
	assert.Equal(t, "/proxy/api/v1/nodes", list.URL.RequestURI())
	assert.Equal(t, "/proxy/api/v1/nodes?watch=true", watch.URL.RequestURI())
	assert.Equal(t, "http://"+list.Host+"/proxy", cfg.Host, "the caller's config is not changed")
	assert.Empty(t, cfg.APIPath)
}

// The server refuses these, and joined or not that is for it to do: without them more would be listed than was asked for.
func TestClient_ABadSelectorOfACallReachesTheServer(t *testing.T) {
	for _, bad := range []metav1.ListOptions{{LabelSelector: "\u00a0"}, {LabelSelector: "\f"}, {FieldSelector: " "}} {
		client := servicesOf(t, &rest.Config{}, Options{LabelSelector: "a=b", FieldSelector: "c=d"})
		asked := client.url(client.rest.Get(), bad).URL().Query()
		_, errLabels := labels.Parse(asked.Get("labelSelector"))
		_, errFields := fields.ParseSelector(asked.Get("fieldSelector"))
		assert.Error(t, errors.Join(errLabels, errFields), "%+v", bad)
	}
}

func TestClient_SelectorMayEndWithAnEscapedComma(t *testing.T) {
	const selector = `reason=a\,`
	var asked requests
	cfg := serve(t, asked.wrap(answer(jsonType, nil)))
	for _, opts := range []struct{ client, call string }{{selector, ""}, {"", selector}} {
		client := servicesOf(t, cfg, Options{FieldSelector: opts.client})
		_, _ = client.List(t.Context(), metav1.ListOptions{FieldSelector: opts.call})
		assert.Equal(t, selector, asked.query().Get("fieldSelector"))
	}
}

func TestClient_AcceptFollowsTheConfigAndTheType(t *testing.T) {
	var asked requests
	cfg := serve(t, asked.wrap(answer(jsonType, nil)))
	accept := func(change func(*rest.Config), opts Options) string {
		changed := rest.CopyConfig(cfg)
		change(changed)
		list, watch := askBoth(t, &asked, servicesOf(t, changed, opts), metav1.ListOptions{})
		assert.Equal(t, list.Header["Accept"], watch.Header["Accept"])
		return list.Header.Get("Accept")
	}
	asIs := func(*rest.Config) {}
	assert.Equal(t, acceptProtobuf, accept(asIs, Options{}))
	assert.Equal(t, acceptProtobuf, accept(func(c *rest.Config) { c.ContentType = protoType }, Options{}))
	assert.Equal(t, jsonType, accept(func(c *rest.Config) { c.ContentType = jsonType }, Options{}))
	assert.Equal(t, "a/b", accept(func(c *rest.Config) { c.AcceptContentTypes = "a/b" }, Options{}))
	assert.Equal(t, "c/d", accept(func(c *rest.Config) { c.AcceptContentTypes = "a/b" }, Options{Accept: "c/d"}))

	// A Go type without generated protobuf code is never asked for as protobuf.
	gvr := schema.GroupVersionResource{Group: "shop.example", Version: "v1", Resource: "widgets"}
	types := runtime.NewScheme()
	types.AddKnownTypeWithName(gvr.GroupVersion().WithKind("Widget"), &widget{})
	changed := rest.CopyConfig(cfg)
	changed.AcceptContentTypes = protoType
	client, err := NewForConfig[*widget](changed, gvr, Options{Scheme: types})
	require.NoError(t, err)
	list, _ := askBoth(t, &asked, client, metav1.ListOptions{})
	assert.Equal(t, jsonType, list.Header.Get("Accept"))
	assert.Equal(t, "/apis/shop.example/v1/widgets", list.URL.Path)
}

// A server that cannot do what is asked for first answers with what it can do.
func TestClient_ReadsTheAnswerByItsOwnContentType(t *testing.T) {
	for _, asked := range bothTypes {
		for _, sent := range []string{jsonType, protoType, ""} {
			format := sent
			if sent == "" {
				format = jsonType
			}
			frame := encodeEvent(t, format, watch.Added, serviceV1("cart", "5"))
			list := encode(t, format, serviceList("9", serviceV1("cart", "5")))
			client := servicesOf(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = nil
				if sent != "" {
					w.Header().Set("Content-Type", sent)
				}
				body := list
				if r.URL.Query().Get("watch") == "true" {
					body = frame
				}
				_, _ = w.Write(body)
			})), Options{Accept: asked})
			got, err := client.List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			assert.Equal(t, []string{"shop/cart"}, keysOf(got.Items))
			stream, err := client.Watch(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			ev, err := stream.Next()
			require.NoError(t, err)
			assert.Equal(t, "cart", ev.Object.Name)
			require.NoError(t, stream.Close())
		}
	}
}

func TestClient_WatchRefusesOtherContent(t *testing.T) {
	for _, contentType := range []string{"text/html", jsonType + ";as=Table;v=v1;g=meta.k8s.io"} {
		_, err := servicesOf(t, serve(t, answer(contentType, []byte("..."))), Options{}).Watch(t.Context(), metav1.ListOptions{})
		assert.ErrorContains(t, err, "watch services: the server answered with")
	}
}

func TestClient_TakesTheHTTPClientOfTheRESTClient(t *testing.T) {
	cfg := serve(t, answer(protoType, encode(t, protoType, serviceList("9", serviceV1("cart", "5")))))
	client, err := New[*corev1.Service](kubernetes.NewForConfigOrDie(cfg).CoreV1().RESTClient(), "services", Options{})
	require.NoError(t, err)
	list, err := client.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"shop/cart"}, keysOf(list.Items))
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	core := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://localhost"}).CoreV1().RESTClient()
	build := func(resource string, opts Options) error {
		_, err := New[*corev1.Service](core, resource, opts)
		return err
	}
	assert.ErrorContains(t, build("", Options{}), "no resource")
	assert.ErrorContains(t, build("services", Options{LabelSelector: "a=b=c"}), "label selector")
	assert.ErrorContains(t, build("services", Options{FieldSelector: "nonsense"}), "field selector")
	assert.ErrorContains(t, build("services", Options{Scheme: runtime.NewScheme()}), "no kind is registered")
	_, err := New[*corev1.Service](nil, "services", Options{})
	assert.ErrorContains(t, err, "no REST client")
	_, err = New[*corev1.Service](fake.NewClientset().CoreV1().RESTClient(), "services", Options{})
	assert.ErrorContains(t, err, "use Funcs")
	_, err = New[*appsv1.Deployment](core, "deployments", Options{})
	assert.ErrorContains(t, err, "*v1.Deployment is a kind of apps/v1, but the client talks to v1")
	_, err = New[Object](core, "services", Options{})
	assert.ErrorContains(t, err, "not a pointer to a struct")
	_, err = New[*corev1.Service](&restfake.RESTClient{GroupVersion: corev1.SchemeGroupVersion}, "services", Options{})
	assert.ErrorContains(t, err, "set Options.HTTPClient")
	_, err = NewForConfig[*corev1.Service](nil, servicesGVR, Options{})
	assert.ErrorContains(t, err, "no REST config")
	_, err = NewUnstructured(&rest.Config{Host: "http://a b"}, servicesGVR, Options{})
	assert.Error(t, err)
	_, err = NewMetadata(&rest.Config{Host: "http://a b"}, servicesGVR, Options{})
	assert.Error(t, err)

	client, err := New[*corev1.Service](core, "services", Options{Namespace: "no/such"})
	require.NoError(t, err)
	_, err = client.List(t.Context(), metav1.ListOptions{})
	assert.ErrorContains(t, err, "invalid namespace")
}

func TestClient_ListWaitsForTheRateLimiterAndWatchDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, stop := servePipe(answer(jsonType, encode(t, jsonType, serviceList("9"))))
		defer stop()
		cfg.QPS, cfg.Burst = 0.1, 1
		client := servicesOf(t, cfg, Options{})
		start := time.Now()
		for range 3 {
			stream, err := client.Watch(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.NoError(t, stream.Close())
		}
		_, err := client.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		assert.Zero(t, time.Since(start))
		_, err = client.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		assert.Equal(t, 10*time.Second, time.Since(start).Round(time.Second))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = client.List(ctx, metav1.ListOptions{})
		assert.ErrorContains(t, err, "rate limiter")
	})
}

func TestClient_TimeoutBoundsListsAndNotWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked requests
		frame := encodeEvent(t, jsonType, watch.Added, serviceV1("late", "5"))
		cfg, stop := servePipe(asked.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", jsonType)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(time.Hour):
				_, _ = w.Write(frame)
			}
		})))
		defer stop()
		cfg.Timeout = 10 * time.Second
		client := servicesOf(t, cfg, Options{})

		start := time.Now()
		_, err := client.List(t.Context(), metav1.ListOptions{})
		var timeout interface{ Timeout() bool }
		require.True(t, errors.As(err, &timeout) && timeout.Timeout(), "%v", err)
		assert.Equal(t, 10*time.Second, time.Since(start))
		assert.Equal(t, "10s", asked.query().Get("timeout"))

		stream, err := client.Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		defer stream.Close()
		assert.False(t, asked.query().Has("timeout"))
		ev, err := stream.Next()
		require.NoError(t, err)
		assert.Equal(t, "late", ev.Object.Name)
		assert.Equal(t, time.Hour+10*time.Second, time.Since(start))
	})
}

// warnings remembers them.
type warnings struct {
	mu   sync.Mutex // protects text
	text []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func TestClient_PassesWarningsOn(t *testing.T) {
	var got warnings
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		w.Header().Set("Warning", `299 - "v1 Service is old"`)
		_, _ = w.Write([]byte(`{"metadata":{"resourceVersion":"9"}}`))
	}))
	cfg.WarningHandler = &got
	_, err := servicesOf(t, cfg, Options{}).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"v1 Service is old"}, got.text)
}

func TestClient_CancelledRequestsSaySo(t *testing.T) {
	client := servicesOf(t, serve(t, answer(jsonType, nil)), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := client.List(ctx, metav1.ListOptions{})
	assert.ErrorIs(t, err, context.Canceled)
	_, err = client.Watch(ctx, metav1.ListOptions{})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestKeyOf_AllocatesNothing(t *testing.T) {
	service := serviceV1("cart", "5")
	var key Key
	assert.Zero(t, testing.AllocsPerRun(100, func() { key = KeyOf(service) }))
	assert.Equal(t, Key{Namespace: "shop", Name: "cart"}, key)
	require.True(t, scheme.Scheme.Recognizes(service.GroupVersionKind()))
}
