package operator

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"glasswatch/controller"
	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// A standby follows the cluster, and queues nothing before it may write.
func TestLayers_WaitUntilTheyMayWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		listener, server := apiserver.NewPipeListener(), apiserver.New(apiserver.Options{})
		ended := make(chan error, 2)
		go func() { ended <- server.Serve(ctx, listener) }()
		cfg := apiserver.RESTConfigFor(listener)
		mayWrite, keys := make(chan struct{}), []string{}
		var l *Layers
		var maps *sharedinformer.Informer[*corev1.ConfigMap]
		l, err := NewLayers(cfg, Parts{Namespace: "default", Registerer: prometheus.NewRegistry(), MayWrite: mayWrite}, "test", scheme.Scheme,
			func(_ context.Context, key listwatch.Key) (controller.Result, error) {
				keys = append(keys, key.Name)
				obj, _ := maps.Store().GetByKey(key)
				l.Recorder.Event(obj, corev1.EventTypeNormal, "Seen", "it was seen")
				return controller.Result{}, nil
			})
		require.NoError(t, err)
		maps, err = NewInformer(l, corev1.SchemeGroupVersion.WithResource("configmaps"), nil, sharedinformer.Options[*corev1.ConfigMap]{})
		require.NoError(t, err)
		Handle(l, maps, controller.EnqueueObject[*corev1.ConfigMap](l.Loop))
		require.ErrorContains(t, l.Ready(), "configmaps: not synced yet")
		go func() { ended <- l.Run(ctx) }()

		kube, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		for _, namespace := range []string{"default", "kube-system"} {
			_, err = kube.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		synctest.Wait()
		require.NoError(t, l.Ready())
		require.Equal(t, 1, maps.Store().Len(), "one namespace is looked at")
		require.Empty(t, keys)
		require.Zero(t, l.Loop.Len())
		close(mayWrite)
		synctest.Wait()
		require.Equal(t, []string{"default"}, keys)
		events, err := kube.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, events.Items, 1)
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
	})
}
