package story

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is an API server behind a listener that hands out net.Pipe ends, so
// that server, transport and watches all live in the bubble's time.
type cluster struct {
	t      *testing.T
	server *apiserver.Server
	client kubernetes.Interface
	lw     listwatch.ListerWatcher[*corev1.ConfigMap]
}

func startCluster(t *testing.T, ctx context.Context) *cluster {
	listener := apiserver.NewPipeListener()
	server := apiserver.New(apiserver.Options{})
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(ctx, listener) }()
	t.Cleanup(func() { require.NoError(t, <-stopped) })
	cfg := server.RESTConfigFor(listener)
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	lw, err := listwatch.NewForConfig[*corev1.ConfigMap](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{Namespace: "default"})
	require.NoError(t, err)
	return &cluster{t: t, server: server, client: client, lw: lw}
}

func (c *cluster) Create(name, value string) {
	c.t.Helper()
	_, err := c.client.CoreV1().ConfigMaps("default").Create(c.t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": value}}, metav1.CreateOptions{})
	require.NoError(c.t, err)
}

func (c *cluster) Update(name, value string) {
	c.t.Helper()
	maps := c.client.CoreV1().ConfigMaps("default")
	obj, err := maps.Get(c.t.Context(), name, metav1.GetOptions{})
	require.NoError(c.t, err)
	obj.Data["v"] = value
	_, err = maps.Update(c.t.Context(), obj, metav1.UpdateOptions{})
	require.NoError(c.t, err)
}

func (c *cluster) Delete(name string) {
	c.t.Helper()
	require.NoError(c.t, c.client.CoreV1().ConfigMaps("default").Delete(c.t.Context(), name, metav1.DeleteOptions{}))
}

// LoseTheNetwork lets every request for ConfigMaps but those of this test fail, and ends their watches.
func (c *cluster) LoseTheNetwork() {
	for _, verb := range []string{"list", "watch"} {
		c.server.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: "configmaps"})
	}
	c.server.Faults().BreakWatches()
}

func (c *cluster) Compact() { c.server.Faults().Compact() }

func (c *cluster) NetworkIsBack() { c.server.Faults().Reset() }

// diary is a handler that records its calls.
type diary struct {
	t  *testing.T
	mu sync.Mutex // guards lines
	// lines since Expect was called last
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) OnAdd(obj *corev1.ConfigMap, isInInitialList bool) {
	d.note("add %s=%s initial=%v", obj.Name, obj.Data["v"], isInInitialList)
}

func (d *diary) OnUpdate(old, obj *corev1.ConfigMap) {
	d.note("update %s=%s→%s", obj.Name, old.Data["v"], obj.Data["v"])
}

func (d *diary) OnDelete(del sharedinformer.Deletion[*corev1.ConfigMap]) {
	d.note("delete %s=%s unknown=%v", del.Key.Name, del.Obj.Data["v"], del.FinalStateUnknown)
}

// Expect lets the bubble come to rest, and wants exactly these lines, in any order.
func (d *diary) Expect(lines ...string) {
	d.t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(lines)
	slices.Sort(d.lines)
	require.Equal(d.t, lines, d.lines)
	d.lines = nil
}

// pass lets virtual time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
