package userasks

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	clientgocache "k8s.io/client-go/tools/cache"

	"glasswatch/compat/cache"
	"glasswatch/internal/apiserver/apiservertest"
)

// compatInformer is the informer that code written for client-go gets by a changed import.
func (c *cluster) compatInformer() cache.SharedIndexInformer {
	client, err := kubernetes.NewForConfig(c.cfg)
	require.NoError(c, err)
	maps := client.CoreV1().ConfigMaps("default")
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListFunc: func(opts metav1.ListOptions) (runtime.Object, error) { return maps.List(c.Context(), opts) },
		WatchFunc: func(opts metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(c.Context(), opts)
		},
	}, &corev1.ConfigMap{}, 0, cache.Indexers{})
}

// In the facade a tombstone is client-go's, for code that handles it; the rest is as in our informer.
func TestTheFacadeKeepsTombstonesAndLosesTheDefects(t *testing.T) {
	glasswatch(t, func(t *testing.T) {
		c, crashed, told, transform := startCluster(t), crashes(t), notes{}, counter{}
		c.Put("a", "1")
		c.Put("b", "1")
		informer := c.compatInformer()
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			if _, err := untypedCheck(obj); err != nil {
				return nil, err
			}
			return transform.count(obj.(*corev1.ConfigMap))
		}))
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
			told.add("delete %s", obj.(clientgocache.DeletedFinalStateUnknown).Key)
		}})
		require.NoError(t, err)
		_, err = clientgocache.NewTypedSharedIndexInformer[*corev1.ConfigMap](informer).AddTypedEventHandler(
			cache.TypedResourceEventHandlerFuncs[*corev1.ConfigMap]{DeleteFunc: func(obj cache.DeletedObject[*corev1.ConfigMap]) {
				told.add("typed delete %s %v", obj.GetKey(), obj.FinalStateUnknown != nil)
			}})
		require.NoError(t, err)
		start(t, informer.RunWithContext)
		apiservertest.Pass(time.Second)
		require.Equal(t, map[string]int{"a": 1, "b": 1}, transform.read())

		c.Miss(func() { c.Put("b", "bad") })
		require.Empty(t, told.read(), "a failing transform is no deletion")
		c.Miss(func() { c.Delete("b") })
		require.ElementsMatch(t, []string{"delete default/b", "typed delete default/b true"}, told.read())
		require.Empty(t, crashed())
	})
}
