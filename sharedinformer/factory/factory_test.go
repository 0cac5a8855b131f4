package factory

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

var (
	servicesGVR = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	nodesGVR    = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	widgetsGVR  = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

// wire is an API server as an http.RoundTripper: lists are what the test says, watches stay silent.
type wire struct {
	mu       sync.Mutex
	lists    map[string]string // by path
	requests []string
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	query := req.URL.Query()
	said := req.URL.Path
	if s := query.Get("labelSelector"); s != "" {
		said += "?" + s
	}
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: req}
	list, ok := w.lists[req.URL.Path]
	switch {
	case query.Get("watch") != "":
		said = "watch " + said
		resp.Body = silence{req.Context()}
	case ok:
		said = "list " + said
		resp.Body = io.NopCloser(strings.NewReader(list))
	default:
		said = "forbid " + said
		resp.StatusCode = 403
		resp.Body = io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not for you","code":403}`))
	}
	w.requests = append(w.requests, said)
	return resp, nil
}

func (w *wire) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.requests
	w.requests = nil
	return said
}

// silence is the body of a watch in which nothing happens.
type silence struct{ ctx context.Context }

func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}
func (s silence) Close() error { return nil }

func listOf(kind, apiVersion string, names ...string) string {
	var items []string
	for _, name := range names {
		items = append(items, `{"kind":"`+kind+`","apiVersion":"`+apiVersion+`","metadata":{"namespace":"shop","name":"`+name+`","uid":"`+name+`","resourceVersion":"7","labels":{"app":"`+name+`"}}}`)
	}
	return `{"kind":"` + kind + `List","apiVersion":"` + apiVersion + `","metadata":{"resourceVersion":"7"},"items":[` + strings.Join(items, ",") + `]}`
}

// onTheWire runs a test of a factory in virtual time.
func onTheWire(t *testing.T, opts Options, tell func(t *testing.T, f *Factory, w *wire)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{lists: map[string]string{
			"/api/v1/services":                 listOf("Service", "v1", "web", "db"),
			"/api/v1/namespaces/shop/services": listOf("Service", "v1", "web"),
			"/api/v1/nodes":                    listOf("Node", "v1", "n1"),
			"/apis/example.com/v1/widgets":     listOf("Widget", "example.com/v1", "w1"),
		}}
		opts.Reflector.DisableStreamingList = true
		if opts.WatchErrorHandler == nil {
			opts.WatchErrorHandler = func(context.Context, schema.GroupVersionResource, error) {}
		}
		f := New(&rest.Config{Host: "http://api.test", Transport: w}, opts)
		defer f.Shutdown()
		tell(t, f, w)
	})
}

func TestFactory_SharesOneInformerPerType(t *testing.T) {
	onTheWire(t, Options{}, func(t *testing.T, f *Factory, w *wire) {
		services, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		again, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		require.Same(t, services, again)
		byName, err := f.ForResource(servicesGVR)
		require.NoError(t, err)
		require.Equal(t, servicesGVR, byName.Resource())
		require.Equal(t, "services.v1", byName.Name())

		nodes, err := f.ForResource(nodesGVR) // the other way round they are two, as Go cannot make a type at run time
		require.NoError(t, err)
		typedNodes, err := InformerFor[*corev1.Node](f)
		require.NoError(t, err)

		var heard []string
		_, err = byName.AddHandler(sharedinformer.HandlerFuncs[listwatch.Object]{AddFunc: func(obj listwatch.Object, initial bool) {
			require.IsType(t, &corev1.Service{}, obj)
			require.True(t, initial)
			heard = append(heard, obj.GetName())
		}}, sharedinformer.HandlerOptions{})
		require.NoError(t, err)

		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		synctest.Wait()
		require.ElementsMatch(t, []string{"web", "db"}, heard)
		require.Equal(t, 1, typedNodes.Store().Len())
		objs, err := nodes.Lister().List(nil)
		require.NoError(t, err)
		require.Len(t, objs, 1)
		require.IsType(t, &corev1.Node{}, objs[0])
		web, err := byName.Lister().Namespace("shop").Get("web")
		require.NoError(t, err)
		require.Equal(t, "web", web.GetName())
		none, err := byName.Lister().Namespace("shop").Get("none")
		require.True(t, apierrors.IsNotFound(err))
		require.Nil(t, none, "no interface around a nil pointer")
		require.Len(t, w.said(), 2*3, "one list and one watch each")
	})
}

func TestFactory_LateInformerWaitsForTheNextStart(t *testing.T) {
	onTheWire(t, Options{}, func(t *testing.T, f *Factory, w *wire) {
		f.Start(t.Context())
		services, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, w.said())
		require.NoError(t, f.WaitForSync(t.Context()), "nobody waits for what was not started")
		f.Start(t.Context())
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		require.True(t, services.HasSynced())
	})
}

func TestFactory_NarrowsToNamespaceAndListOptions(t *testing.T) {
	opts := Options{
		Namespace:        "shop",
		TweakListOptions: func(o *metav1.ListOptions) { o.LabelSelector = "app=web" },
	}
	onTheWire(t, opts, func(t *testing.T, f *Factory, w *wire) {
		_, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		_, err = InformerFor[*corev1.Node](f)
		require.NoError(t, err)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		synctest.Wait()
		require.ElementsMatch(t, []string{
			"list /api/v1/namespaces/shop/services?app=web", "watch /api/v1/namespaces/shop/services?app=web",
			"list /api/v1/nodes?app=web", "watch /api/v1/nodes?app=web", // of cluster scope
		}, w.said())
	})
}

func TestFactory_ResyncPerType(t *testing.T) {
	opts := Options{DefaultResync: time.Minute, Resync: map[reflect.Type]time.Duration{reflect.TypeFor[*corev1.Node](): time.Hour}}
	onTheWire(t, opts, func(t *testing.T, f *Factory, _ *wire) {
		var mu sync.Mutex // two informers, two goroutines
		resyncs := map[string]int{}
		for _, gvr := range []schema.GroupVersionResource{servicesGVR, nodesGVR} {
			informer, err := f.ForResource(gvr)
			require.NoError(t, err)
			_, err = informer.AddHandler(sharedinformer.HandlerFuncs[listwatch.Object]{UpdateFunc: func(_, obj listwatch.Object) {
				mu.Lock()
				defer mu.Unlock()
				resyncs[obj.GetName()]++
			}}, sharedinformer.HandlerOptions{})
			require.NoError(t, err)
		}
		f.Start(t.Context())
		<-time.After(time.Hour + time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, map[string]int{"web": 60, "db": 60, "n1": 1}, resyncs)
	})
}

func TestFactory_TransformsEveryType(t *testing.T) {
	var mu sync.Mutex // two informers, two goroutines
	var failed []string
	opts := Options{
		Transform: func(obj listwatch.Object) (listwatch.Object, error) {
			if obj.GetName() == "db" {
				return &corev1.Pod{}, nil // another type: refused
			}
			if obj.GetName() == "n1" {
				return nil, errors.New("unfit")
			}
			obj.SetLabels(nil)
			return obj, nil
		},
		OnObjectError: func(gvr schema.GroupVersionResource, k listwatch.Key, err error) {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, gvr.Resource+" "+k.Name)
			if err == nil {
				t.Error("an error without an error")
			}
		},
	}
	onTheWire(t, opts, func(t *testing.T, f *Factory, _ *wire) {
		services, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		_, err = InformerFor[*corev1.Node](f)
		require.NoError(t, err)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		require.ElementsMatch(t, []string{"services db", "nodes n1"}, failed)
		web, err := services.Lister().Namespace("shop").Get("web")
		require.NoError(t, err)
		require.Empty(t, web.Labels)
	})
}

func TestFactory_UnknownResourcesAreUnstructuredOrMetadata(t *testing.T) {
	onTheWire(t, Options{}, func(t *testing.T, f *Factory, w *wire) {
		widgets, err := f.ForResource(widgetsGVR)
		require.NoError(t, err)
		again, err := f.ForResource(widgetsGVR)
		require.NoError(t, err)
		require.Equal(t, widgets, again)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		objs, err := widgets.Lister().List(nil)
		require.NoError(t, err)
		require.Len(t, objs, 1)
		require.IsType(t, &unstructured.Unstructured{}, objs[0])

		metadata, err := f.ForMetadata(servicesGVR)
		require.NoError(t, err)
		require.Equal(t, "services.v1 (metadata)", metadata.Name())
		w.mu.Lock()
		w.lists["/api/v1/services"] = listOf("PartialObjectMetadata", "meta.k8s.io/v1", "web")
		w.mu.Unlock()
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		objs, err = metadata.Lister().List(nil)
		require.NoError(t, err)
		require.Len(t, objs, 1)
		require.IsType(t, &metav1.PartialObjectMetadata{}, objs[0])

		_, err = InformerFor[*unstructured.Unstructured](f)
		require.ErrorContains(t, err, "ForResource")
		_, err = InformerFor[listwatch.Object](f)
		require.Error(t, err)
		type Stranger struct{ corev1.Service }
		_, err = InformerFor[*Stranger](f)
		require.Error(t, err)
	})
}

func TestFactory_SaysWhatDidNotSyncAndWhy(t *testing.T) {
	onTheWire(t, Options{}, func(t *testing.T, f *Factory, _ *wire) {
		_, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		_, err = InformerFor[*networkingv1.Ingress](f)
		require.NoError(t, err)
		f.Start(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = f.WaitForSync(ctx)
		require.ErrorContains(t, err, "ingresses.v1.networking.k8s.io")
		require.ErrorContains(t, err, "not for you")
		require.NotContains(t, err.Error(), "services")
		require.True(t, apierrors.IsForbidden(err))
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestFactory_StopsOneInformerAndForgetsIt(t *testing.T) {
	onTheWire(t, Options{}, func(t *testing.T, f *Factory, w *wire) {
		services, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		nodes, err := InformerFor[*corev1.Node](f)
		require.NoError(t, err)
		reg, err := services.AddHandler(sharedinformer.HandlerFuncs[*corev1.Service]{}, sharedinformer.HandlerOptions{})
		require.NoError(t, err)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		require.Len(t, f.Stats(), 2)

		require.NoError(t, f.Stop(servicesGVR))
		require.True(t, isClosed(services.Done()))
		require.True(t, isClosed(reg.Done()))
		require.False(t, isClosed(nodes.Done()))
		require.Len(t, f.Stats(), 1)
		require.ErrorIs(t, f.Stop(servicesGVR), ErrNoInformer)
		require.ErrorIs(t, StopFor[*corev1.Service](f), ErrNoInformer)

		gone := weak.Make(services)
		services = nil
		require.Eventually(t, func() bool { runtime.GC(); return gone.Value() == nil }, time.Minute, time.Second, "its memory is held")
		require.NotNil(t, reg, "even though its registration is still around")

		services, err = InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		require.Equal(t, 2, services.Store().Len())
		require.NoError(t, StopFor[*corev1.Service](f))
		require.True(t, isClosed(services.Done()))

		f.Shutdown()
		require.True(t, isClosed(nodes.Done()))
		_, err = InformerFor[*corev1.Service](f)
		require.ErrorContains(t, err, "shut down")
		f.Start(t.Context())
		f.Shutdown()
	})
}

func TestFactory_StopOfWhatNeverRanStopsItForGood(t *testing.T) {
	for name, stop := range map[string]func(*Factory) error{
		"Stop":     func(f *Factory) error { return f.Stop(servicesGVR) },
		"Shutdown": func(f *Factory) error { f.Shutdown(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			onTheWire(t, Options{}, func(t *testing.T, f *Factory, _ *wire) {
				informer, err := InformerFor[*corev1.Service](f)
				require.NoError(t, err)
				require.NoError(t, stop(f))
				require.ErrorIs(t, informer.WaitForSync(context.Background()), sharedinformer.ErrStopped)
				_, err = informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.Service]{}, sharedinformer.HandlerOptions{})
				require.ErrorIs(t, err, sharedinformer.ErrStopped)
			})
		})
	}
}

func TestFactory_AsksTheMapperForWhatIsNotBuiltIn(t *testing.T) {
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	types := scheme.Scheme
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(gv.WithKind("Widget"), gv.WithResource("widgetries"), gv.WithResource("widgetry"), meta.RESTScopeRoot)
	f := New(&rest.Config{}, Options{RESTMapper: mapper, Scheme: types})
	require.False(t, f.scopeOf(gv.WithResource("widgetries")))
	require.True(t, f.scopeOf(gv.WithResource("unheard-of")))
	gvr, namespaced, err := resourceOf[*corev1.Binding](f) // in the scheme, though no list of its own
	require.NoError(t, err)
	require.Equal(t, schema.GroupVersionResource{Version: "v1", Resource: "bindings"}, gvr)
	require.True(t, namespaced)
}

// callingBack is a mapper that looks at the factory's mutex when it is asked, as one that asks a server gives others time to.
type callingBack struct {
	meta.RESTMapper
	asked func()
}

func (m callingBack) KindFor(gvr schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	m.asked()
	return m.RESTMapper.KindFor(gvr)
}

func TestFactory_AsksTheMapperWithNoLockHeld(t *testing.T) {
	var f *Factory
	asked := 0
	mapper := callingBack{meta.NewDefaultRESTMapper(nil), func() {
		asked++
		free := f.mu.TryLock()
		if free {
			f.mu.Unlock()
		}
		require.True(t, free, "a mapper may take its time and may use the factory")
	}}
	f = New(&rest.Config{}, Options{RESTMapper: mapper})
	for range 2 {
		_, err := f.ForResource(widgetsGVR)
		require.NoError(t, err)
		_, err = f.ForMetadata(widgetsGVR)
		require.NoError(t, err)
	}
	require.Equal(t, 2, asked, "once for each informer")
}

func TestFactory_KnowsEveryResourceThatClientGosFactoryKnows(t *testing.T) {
	theirs := informers.NewSharedInformerFactory(nil, 0)
	found := 0
	for gvk, goType := range scheme.Scheme.AllKnownTypes() {
		gvr := plural(gvk)
		if _, err := theirs.ForResource(gvr); err != nil {
			continue
		}
		found++
		known, ok := builtin(gvr)
		require.True(t, ok, "%v", gvr)
		require.Equal(t, reflect.PointerTo(goType), known)
	}
	require.Greater(t, found, 100)
	services, namespaced, err := resourceOf[*corev1.Service](New(&rest.Config{}, Options{}))
	require.NoError(t, err)
	require.Equal(t, servicesGVR, services)
	require.True(t, namespaced)
	_, ok := builtin(widgetsGVR)
	require.False(t, ok)
}

// A server says of each resource whether it belongs to a namespace.
func TestFactory_KnowsTheScopeOfBuiltInResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server, listener := apiserver.New(apiserver.Options{}), apiserver.NewPipeListener()
		stopped := make(chan error, 1)
		go func() { stopped <- server.Serve(ctx, listener) }()
		defer func() { cancel(); <-stopped }()
		cfg := server.RESTConfigFor(listener)
		client, err := discovery.NewDiscoveryClientForConfig(cfg)
		require.NoError(t, err)
		lists, err := client.ServerPreferredResources()
		require.NoError(t, err)
		f, compared := New(cfg, Options{}), 0
		for _, list := range lists {
			gv, err := schema.ParseGroupVersion(list.GroupVersion)
			require.NoError(t, err)
			for _, r := range list.APIResources {
				gvr := gv.WithResource(r.Name)
				if _, ok := builtin(gvr); ok {
					compared++
					require.Equal(t, r.Namespaced, f.scopeOf(gvr), "%v", gvr)
				}
			}
		}
		require.Greater(t, compared, 10)
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
