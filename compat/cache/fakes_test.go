package cache

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
)

// Unit tests give the objects of a fake clientset resourceVersions of their own. The list's version is the tracker's, so
// those of later events may fall below it.
func TestFakeClientset_EventsWithVersionsBelowTheListsComeAtOnce(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, _ *village) {
		var objects []runtime.Object
		for i := range 20 {
			objects = append(objects, configMap("old-"+strconv.Itoa(i), "1000"))
		}
		clientset := fake.NewClientset(objects...)
		client := clientset.CoreV1().ConfigMaps("default")
		informer := m.shared(ToListWatcherWithWatchListSemantics(&ListWatch{
			ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, opts)
			},
			WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				return client.Watch(ctx, opts)
			},
		}, clientset), &corev1.ConfigMap{}, SharedIndexInformerOptions{})
		handler := &diary{}
		_, err := informer.AddEventHandler(handler)
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		require.Len(t, handler.entries, 20)
		handler.entries = nil
		began := time.Now()
		change := func(err error) {
			t.Helper()
			require.NoError(t, err)
			synctest.Wait()
		}
		_, err = client.Create(t.Context(), configMap("new", "7"), metav1.CreateOptions{})
		change(err)
		_, err = client.Update(t.Context(), configMap("new", "3"), metav1.UpdateOptions{})
		change(err)
		change(client.Delete(t.Context(), "new", metav1.DeleteOptions{}))
		handler.Expect(t, "add new@7", "update new@7→3", "delete new@3")
		require.Zero(t, time.Since(began))
		require.Equal(t, "3", informer.LastSyncResourceVersion())
	})
}
