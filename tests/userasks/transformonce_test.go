package userasks

import (
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/apiserver/apiservertest"
)

// This transform is not idempotent: it counts. (Others hash, add a prefix, or are just slow.)
type counter struct {
	mu    sync.Mutex // protects calls
	calls map[string]int
}

func (n *counter) count(obj *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.calls == nil {
		n.calls = map[string]int{}
	}
	n.calls[obj.Name]++
	return obj, nil
}

func (n *counter) read() map[string]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.calls)
}

// The first list is a streaming list, as from every server since v1.35, and one object comes later.
func TestATransformSeesEachObjectOfAStreamingListOnce(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c, transform := startCluster(t), counter{}
		c.Put("a", "1")
		c.Put("b", "1")
		informer := c.clientGoInformer(nil)
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) { return transform.count(obj.(*corev1.ConfigMap)) }))
		start(t, informer.RunWithContext)
		require.True(t, cache.WaitFor(t.Context(), "", informer.HasSyncedChecker()))
		c.Put("later", "1")
		apiservertest.Pass(time.Second)
		require.Equal(t, []string{"streaming list"}, c.Asked())
		// The transform runs once before the store that gathers the stream, and again before the queue.
		require.Equal(t, map[string]int{"a": 2, "b": 2, "later": 1}, transform.read())
	})
	glasswatch(t, func(t *testing.T) {
		c, transform := startCluster(t), counter{}
		c.Put("a", "1")
		c.Put("b", "1")
		informer := c.informer(options{Transform: transform.count})
		startInformer(t, informer)
		require.NoError(t, informer.WaitForSync(t.Context()))
		c.Put("later", "1")
		apiservertest.Pass(time.Second)
		require.Equal(t, []string{"streaming list"}, c.Asked())
		require.Equal(t, map[string]int{"a": 1, "b": 1, "later": 1}, transform.read())
	})
}
