package userasks

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
	"glasswatch/sharedinformer"
)

func TestMain(m *testing.M) {
	// Both sides log what the scripts provoke. The other default handler of errors sleeps by a clock that starts outside the
	// bubbles, where it is decades later.
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
	goleak.VerifyTestMain(m)
}

// clientGo and glasswatch are the two halves of a script, each in a bubble of virtual time.
func clientGo(t *testing.T, tell func(t *testing.T)) {
	t.Helper()
	t.Run("client-go", func(t *testing.T) { synctest.Test(t, tell) })
}

func glasswatch(t *testing.T, tell func(t *testing.T)) {
	t.Helper()
	t.Run("glasswatch", func(t *testing.T) { synctest.Test(t, tell) })
}

// cluster is an API server, reached over real HTTP on net.Pipes.
type cluster struct {
	*testing.T
	server *apiserver.Server
	// client is the teller's own; informers use cfg, so that only their requests are in asked.
	client kubernetes.Interface
	cfg    *rest.Config

	mu    sync.Mutex // protects asked
	asked []string
}

func startCluster(t *testing.T) *cluster {
	ctx, cancel := context.WithCancel(context.Background())
	server, listener := apiserver.New(apiserver.Options{}), apiserver.NewPipeListener()
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(ctx, listener) }()
	t.Cleanup(func() { cancel(); <-stopped })
	c := &cluster{T: t, server: server, cfg: server.RESTConfigFor(listener)}
	var err error
	c.client, err = kubernetes.NewForConfig(c.cfg)
	require.NoError(t, err)
	c.cfg.Wrap(c.noting)
	return c
}

// noting notes what an informer asks for.
func (c *cluster) noting(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		verb, query := "list", req.URL.Query()
		if query.Get("sendInitialEvents") != "" {
			verb = "streaming list"
		} else if query.Get("watch") != "" {
			verb = "watch"
		} else if query.Get("limit") == "1" {
			verb = "one" // of however many there are: a look at the server's version
		}
		c.mu.Lock()
		c.asked = append(c.asked, verb)
		c.mu.Unlock()
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Asked returns what informers asked for since the last call.
func (c *cluster) Asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

// Put creates or replaces a ConfigMap whose only value is v.
func (c *cluster) Put(name, v string) *corev1.ConfigMap {
	c.Helper()
	return c.PutObject(configMap(name, v))
}

// PutObject creates or replaces a ConfigMap and returns what the server made of it.
func (c *cluster) PutObject(obj *corev1.ConfigMap) *corev1.ConfigMap {
	c.Helper()
	maps := c.client.CoreV1().ConfigMaps(obj.Namespace)
	written, err := maps.Update(c.Context(), obj, metav1.UpdateOptions{})
	if err != nil {
		written, err = maps.Create(c.Context(), obj, metav1.CreateOptions{})
	}
	require.NoError(c, err)
	return written
}

func configMap(name, v string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"v": v}}
}

func (c *cluster) Delete(name string) {
	c.Helper()
	require.NoError(c, c.client.CoreV1().ConfigMaps("default").Delete(c.Context(), name, metav1.DeleteOptions{}))
}

// Miss lets informers miss what happens meanwhile: their watches end with 410, so that a list must tell them.
func (c *cluster) Miss(happens func()) {
	c.Helper()
	synctest.Wait()
	require.NotZero(c, c.server.Faults().ExpireWatches())
	synctest.Wait() // both sides wait a moment before they list again
	happens()
	c.server.Faults().Compact()
	pass(time.Minute)
}

// Fail lets every list and watch of an informer fail, or only the next n if n is not negative.
func (c *cluster) Fail(n, code int, verbs ...string) {
	for _, verb := range verbs {
		c.server.Faults().FailNext(n, apiserver.Failure{Verb: verb, Resource: "configmaps", Code: code})
	}
}

// clientGoInformer is client-go's informer on the ConfigMaps of a namespace, as generated code makes it.
func (c *cluster) clientGoInformer(indexers cache.Indexers) cache.SharedIndexInformer {
	client, err := kubernetes.NewForConfig(c.cfg)
	require.NoError(c, err)
	return coreinformers.NewConfigMapInformer(client, "default", 0, indexers)
}

type (
	options  = sharedinformer.Options[*corev1.ConfigMap]
	handler  = sharedinformer.HandlerFuncs[*corev1.ConfigMap]
	deletion = sharedinformer.Deletion[*corev1.ConfigMap]

	handlerOptions = sharedinformer.HandlerOptions
)

// informer is ours on the same ConfigMaps.
func (c *cluster) informer(opts options) *sharedinformer.Informer[*corev1.ConfigMap] {
	return sharedinformer.New(c.listerWatcher(), opts)
}

func (c *cluster) listerWatcher() listwatch.ListerWatcher[*corev1.ConfigMap] {
	lw, err := listwatch.NewForConfig[*corev1.ConfigMap](c.cfg, corev1.SchemeGroupVersion.WithResource("configmaps"),
		listwatch.Options{Namespace: "default", Decoder: memo.New(memo.Options{})})
	require.NoError(c, err)
	return lw
}

// start lets something run until the script ends. stop ends it earlier and says how long that took.
func start(t *testing.T, run func(ctx context.Context)) (stop func() time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); run(ctx) }()
	stop = func() time.Duration {
		began := time.Now()
		cancel()
		<-done
		return time.Since(began)
	}
	t.Cleanup(func() { stop() })
	return stop
}

// startInformer is start for one of ours.
func startInformer(t *testing.T, informer interface{ Run(context.Context) error }) (stop func() time.Duration) {
	return start(t, func(ctx context.Context) { _ = informer.Run(ctx) })
}

// crashes lets the process survive panics for the rest of the script, and remembers them.
func crashes(t *testing.T) (seen func() []string) {
	var mu sync.Mutex
	var panics []string
	handlers := utilruntime.PanicHandlers
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, r any) {
		mu.Lock()
		defer mu.Unlock()
		panics = append(panics, fmt.Sprint(r))
	}}
	t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = true, handlers })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), panics...)
	}
}

// notes is what handlers write down.
type notes struct {
	mu    sync.Mutex // protects lines
	lines []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// read comes to rest first, and returns what was written since the last time.
func (n *notes) read() []string {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	lines := n.lines
	n.lines = nil
	return lines
}

// pass lets virtual time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// isRunning reports whether a goroutine has a function on its stack.
func isRunning(function string) bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), function)
}

// gate is where a handler hangs until it is opened. The end of a script opens it, too, so that one that fails ends.
type gate struct {
	opened chan struct{}
	ctx    context.Context
}

func newGate(t *testing.T) *gate { return &gate{opened: make(chan struct{}), ctx: t.Context()} }

func (g *gate) Open() { close(g.opened) }

func (g *gate) Pass() {
	select {
	case <-g.opened:
	case <-g.ctx.Done():
	}
}

// quiet is a WatchErrorHandler for those who expect errors.
func quiet(context.Context, error) {}
