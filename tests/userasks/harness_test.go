package userasks

import (
	"context"
	"fmt"
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
	"glasswatch/internal/apiserver/apiservertest"
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

// cluster is an API server. Informers use cfg, so that Asked tells of their requests only.
type cluster struct {
	*apiservertest.Server
	cfg *rest.Config
}

func startCluster(t *testing.T) *cluster {
	s := apiservertest.Start(t, apiserver.Options{})
	return &cluster{s, s.Noting()}
}

// Put creates or replaces a ConfigMap whose only value is v.
func (c *cluster) Put(name, v string) *corev1.ConfigMap {
	c.Helper()
	return c.PutObject(configMap(name, v))
}

func configMap(name, v string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"v": v}}
}

// FailReads lets every list and watch of an informer fail, or only the next n if n is not negative.
func (c *cluster) FailReads(n, code int, verbs ...string) {
	for _, verb := range verbs {
		c.Faults().FailNext(n, apiserver.Failure{Verb: verb, Resource: "configmaps", Code: code})
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
func start(t testing.TB, run func(ctx context.Context)) (stop func() time.Duration) {
	end := apiservertest.Go(t, func(ctx context.Context) error { run(ctx); return nil })
	return func() time.Duration {
		began := time.Now()
		end()
		return time.Since(began)
	}
}

// startInformer is start for one of ours.
func startInformer(t testing.TB, informer interface{ Run(context.Context) error }) (stop func() time.Duration) {
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
