package follow

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
	"glasswatch/sharedinformer/merged"
)

const shardCount = 16

// world is an API server with objects in several namespaces, in virtual time.
type world struct {
	*testing.T
	server  *apiserver.Server
	cfg     *rest.Config
	client  *kubernetes.Clientset
	network http.RoundTripper
	field   shard.Field
	members map[string]*member
}

// member is a group that runs, and what it was told.
type member struct {
	*Group
	configs  *Informer[*corev1.ConfigMap]
	services *Informer[*corev1.Service]
	stop     context.CancelFunc
	ended    chan error

	mu       sync.Mutex
	listed   []int    // guarded by mu: what OnListed was told
	requests []string // guarded by mu: lists and watches of ConfigMaps
	refuse   bool     // guarded by mu: these requests fail
	paged    bool     // no streaming lists
}

func inWorld(t *testing.T, field shard.Field, opts apiserver.Options, play func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		listener, served := apiserver.NewPipeListener(), make(chan error, 1)
		w := &world{T: t, server: apiserver.New(opts), field: field, members: map[string]*member{}}
		go func() { served <- w.server.Serve(ctx, listener) }()
		transport := &http.Transport{DialContext: listener.DialContext}
		w.network, w.cfg = transport, &rest.Config{Host: "http://server", QPS: -1}
		var err error
		w.client, err = kubernetes.NewForConfigAndClient(w.cfg, &http.Client{Transport: transport})
		require.NoError(t, err)
		for n := range 6 {
			name := fmt.Sprintf("%c-shop", 'a'+n)
			_, err := w.client.CoreV1().Namespaces().Create(ctx,
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			require.NoError(t, err)
			for o := range 5 {
				w.Put(name, fmt.Sprintf("c%d", o))
			}
		}
		play(w)
		for name := range w.members {
			w.Leave(name)
		}
		cancel()
		require.NoError(t, <-served)
		transport.CloseIdleConnections()
	})
}

func (w *world) Put(namespace, name string) *corev1.ConfigMap {
	w.Helper()
	made, err := w.client.CoreV1().ConfigMaps(namespace).Create(context.Background(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(w, err)
	return made
}

func (w *world) Delete(namespace, name string) {
	w.Helper()
	err := w.client.CoreV1().ConfigMaps(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	require.NoError(w, err)
}

// roundTrip records the requests for ConfigMaps, and refuses them if it shall.
func (m *member) roundTrip(network http.RoundTripper) roundTripper {
	return func(req *http.Request) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/configmaps") {
			m.mu.Lock()
			m.requests = append(m.requests, req.URL.RawQuery)
			refuse := m.refuse
			m.mu.Unlock()
			if refuse {
				return nil, context.DeadlineExceeded
			}
		}
		return network.RoundTrip(req)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Join starts a member, after change.
func (w *world) Join(identity string, change func(*member)) *member {
	w.Helper()
	m := &member{ended: make(chan error, 1)}
	if change != nil {
		change(m)
	}
	httpClient := &http.Client{Transport: m.roundTrip(w.network)}
	var err error
	m.Group, err = New(w.client.CoordinationV1(), Options{
		Member: shards.Options{Namespace: "default", Name: "web", Identity: identity, Shards: shardCount},
		Field:  w.field,
		OnListed: func(shards []int) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.listed = append(m.listed, shards...)
		},
	})
	require.NoError(w, err)
	m.configs = addKind[*corev1.ConfigMap](w, m.Group, "configmaps", httpClient, m.paged)
	m.services = addKind[*corev1.Service](w, m.Group, "services", httpClient, m.paged)
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	m.stop = stop
	go func() { m.ended <- m.Run(ctx) }()
	w.members[identity] = m
	return m
}

func addKind[T listwatch.Object](w *world, g *Group, resource string, client *http.Client, paged bool) *Informer[T] {
	gvr := schema.GroupVersionResource{Version: "v1", Resource: resource}
	var opts merged.Options[T]
	opts.Reflector.DisableStreamingList = paged
	opts.WatchErrorHandler = func(context.Context, error) {}
	informer, err := Add(g, func(s shard.Selector) (listwatch.ListerWatcher[T], error) {
		return listwatch.NewForConfig[T](w.cfg, gvr, listwatch.Options{HTTPClient: client, Shard: s})
	}, opts)
	require.NoError(w, err)
	return informer
}

func (w *world) Leave(identity string) {
	m := w.members[identity]
	delete(w.members, identity)
	m.stop()
	require.NoError(w, <-m.ended)
}

func (w *world) Pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// ExpectShared wants each shard to be listed by one member, whose store has the shard's objects and no others.
func (w *world) ExpectShared() {
	w.Helper()
	synctest.Wait()
	all, err := w.client.CoreV1().ConfigMaps("").List(context.Background(), metav1.ListOptions{})
	require.NoError(w, err)
	owners := map[int]*member{}
	for name, m := range w.members {
		require.NoError(w, m.Ready(), name)
		for s := range shardCount {
			if m.Listed(s) {
				require.Nil(w, owners[s])
				owners[s] = m
			}
		}
	}
	want := map[*member][]string{}
	for _, obj := range all.Items {
		if obj.Name == "kube-root-ca.crt" {
			continue
		}
		owner := owners[w.anyone().Of(&obj)]
		require.NotNil(w, owner)
		want[owner] = append(want[owner], obj.Namespace+"/"+obj.Name)
	}
	for name, m := range w.members {
		require.ElementsMatch(w, want[m], stored(m), name)
	}
}

func (w *world) anyone() *Group {
	for _, m := range w.members {
		return m.Group
	}
	return nil
}

func stored(m *member) (names []string) {
	for key := range m.configs.Store().All() {
		if key.Name != "kube-root-ca.crt" {
			names = append(names, key.Namespace+"/"+key.Name)
		}
	}
	slices.Sort(names)
	return names
}
