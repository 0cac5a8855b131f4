package pitfalls

import (
	"context"
	"fmt"
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
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

func TestMain(m *testing.M) {
	// The naive halves would fill the log. The other default error handler sleeps by a clock that starts outside the
	// bubbles, where the time is decades later.
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
	goleak.VerifyTestMain(m)
}

// contrast runs a property with each of two halves, each in a bubble of virtual time. A property returns an error that
// says how the half breaks it. Failures that are not the half's fault are checked with require.
func contrast[F any](t *testing.T, property func(t *testing.T, half F) error, naive, right F) {
	t.Helper()
	p := pitfallOf(t)
	t.Run("naive", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			err := property(t, naive)
			require.Error(t, err, "the naive half is right")
			require.Equal(t, p.YouSee, err.Error(), "the comment of %s says something else after \"You see:\"", p.Name)
		})
	})
	t.Run("right", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { require.NoError(t, property(t, right)) })
	})
}

// pitfallOf returns what the comment of the running test says.
func pitfallOf(t *testing.T) pitfall {
	t.Helper()
	chapters, err := readChapters()
	require.NoError(t, err)
	for _, c := range chapters {
		for _, p := range c.Pitfalls {
			if p.Name == t.Name() {
				return p
			}
		}
	}
	require.Fail(t, "no pitfall has the name of this test", t.Name())
	return pitfall{}
}

// cluster is an API server that is reached over real HTTP on net.Pipes.
type cluster struct{ *apiservertest.Server }

func startCluster(t *testing.T) *cluster {
	return &cluster{apiservertest.Start(t, apiserver.Options{})}
}

// Put creates or replaces a ConfigMap whose only value is v.
func (c *cluster) Put(name, v string) *corev1.ConfigMap {
	c.Helper()
	return c.PutObject(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"v": v}})
}

// Names returns the names of the ConfigMaps that the server has.
func (c *cluster) Names() []string {
	c.Helper()
	list, err := c.Client.CoreV1().ConfigMaps("default").List(c.Context(), metav1.ListOptions{})
	require.NoError(c, err)
	names := []string{}
	for _, obj := range list.Items {
		names = append(names, obj.Name)
	}
	return names
}

// unavailable answers requests of that kind for ConfigMaps with 503.
func unavailable(verb string) apiserver.Failure {
	return apiserver.Failure{Verb: verb, Resource: "configmaps", Code: 503}
}

// informer returns one on the ConfigMaps, which does not run yet.
func (c *cluster) informer(resync time.Duration) cache.SharedIndexInformer {
	return coreinformers.NewConfigMapInformer(c.Client, "default", resync, cache.Indexers{})
}

// run lets an informer run until the test ends, and returns once its store is filled.
func (c *cluster) run(informer cache.SharedIndexInformer) {
	c.Helper()
	start(c, informer.RunWithContext)
	require.True(c, cache.WaitFor(c.Context(), "", informer.HasSyncedChecker()))
}

// start lets something run until the test ends.
func start(t testing.TB, run func(ctx context.Context)) {
	apiservertest.Go(t, func(ctx context.Context) error { run(ctx); return nil })
}

// crashes lets the process survive panics for the rest of the test, and returns them. Without it they would end the
// process.
func crashes(t *testing.T) (seen func() []string) {
	var panics notes
	handlers := utilruntime.PanicHandlers
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, r any) { panics.add("%v", r) }}
	t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = true, handlers })
	return panics.all
}

// notes collects what handlers and workers write down.
type notes struct {
	mu    sync.Mutex // protects lines
	lines []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// all waits until every goroutine is blocked, and returns what was written so far.
func (n *notes) all() []string {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string{}, n.lines...)
}

// unlike compares what was seen with what was wanted, by their texts.
func unlike(what string, want, got []string) error {
	if strings.Join(want, ", ") == strings.Join(got, ", ") {
		return nil
	}
	return fmt.Errorf("%s: want [%s], got [%s]", what, strings.Join(want, ", "), strings.Join(got, ", "))
}
