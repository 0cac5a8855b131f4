package controllerruntime

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"glasswatch/compat/cache/install"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// controller-runtime says in no option what namespaces and selectors an informer has. They are in the requests that it
// sends, and those are what our informers send.
func TestCache_SharesEqualPartsOfWhatItsOptionsSelect(t *testing.T) {
	cfg := apiservertest.StartOnSocket(t, apiserver.Options{}).Config
	direct, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	for _, namespace := range []string{"default", "kube-system"} {
		for n := range 20 {
			_, err := direct.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("config-", n), Labels: map[string]string{"app": "shop", "first": fmt.Sprint(n == 0)}},
				Data:       map[string]string{"v": "a value of all"},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
	for name, c := range map[string]struct {
		wrap   func(http.RoundTripper) http.RoundTripper
		shares bool
	}{
		"with the transport": {install.Transport, true},
		"without":            {func(base http.RoundTripper) http.RoundTripper { return base }, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := rest.CopyConfig(cfg)
			cfg.Wrap(c.wrap)
			cached, err := ctrlcache.New(cfg, ctrlcache.Options{
				NewInformer:       install.NewSharedIndexInformer,
				DefaultNamespaces: map[string]ctrlcache.Config{"default": {}},
				ByObject: map[client.Object]ctrlcache.ByObject{
					&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{"first": "false"})},
				},
				DefaultUnsafeDisableDeepCopy: new(true),
			})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			stopped := make(chan error, 1)
			go func() { stopped <- cached.Start(ctx) }()
			defer func() { cancel(); require.NoError(t, <-stopped) }()
			require.True(t, cached.WaitForCacheSync(ctx))

			var found corev1.ConfigMapList
			require.NoError(t, cached.List(ctx, &found))
			require.Len(t, found.Items, 19)
			maps := map[any]bool{}
			for _, item := range found.Items {
				require.Equal(t, "default", item.Namespace)
				require.Equal(t, map[string]string{"v": "a value of all"}, item.Data)
				maps[reflect.ValueOf(item.Data).UnsafePointer()] = true
			}
			require.Equal(t, c.shares, len(maps) < 19)
		})
	}
}
