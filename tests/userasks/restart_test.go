package userasks

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"glasswatch/sharedinformer/factory"
)

// A feature is switched off: the ConfigMaps are not needed any more, and the factory's other informers go on. Later the
// feature is switched on again.
func TestOneInformerOfAFactoryStopsAndStartsAgain(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c := startCluster(t)
		c.Put("a", "1")
		client, err := kubernetes.NewForConfig(c.cfg)
		require.NoError(t, err)
		shared := informers.NewSharedInformerFactory(client, 0)
		services := shared.Core().V1().Services().Informer()
		start(t, func(ctx context.Context) { shared.StartWithContext(ctx); <-ctx.Done(); shared.Shutdown() })
		synctest.Wait()

		// A factory stops nothing. What can be done is to start it once more, with a context for what was asked for since.
		maps := shared.Core().V1().ConfigMaps()
		maps.Informer()
		stop := start(t, func(ctx context.Context) { shared.StartWithContext(ctx); <-ctx.Done() })
		require.True(t, cache.WaitFor(t.Context(), "", maps.Informer().HasSyncedChecker(), services.HasSyncedChecker()))
		a := cached(maps.Informer())
		stop()
		synctest.Wait()
		require.True(t, maps.Informer().IsStopped())
		require.False(t, services.IsStopped())

		// Whoever asks for it again is given the one that has stopped. It cannot be started, it takes no handlers, its lister
		// goes on to answer with what was true when it stopped, and its memory stays as long as the factory.
		start(t, func(ctx context.Context) { shared.StartWithContext(ctx) })
		c.Put("a", "2")
		synctest.Wait()
		require.True(t, maps.Informer().IsStopped())
		_, err = maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{})
		require.ErrorContains(t, err, "stopped already")
		old, err := maps.Lister().ConfigMaps("default").Get("a")
		require.NoError(t, err)
		require.Equal(t, "1", old.Data["v"])
		require.False(t, isFreed(a))
		runtime.KeepAlive(shared)
	})
	glasswatch(t, func(t *testing.T) {
		c := startCluster(t)
		c.Put("a", "1")
		shared := factory.New(c.cfg, factory.Options{})
		defer shared.Shutdown()
		services, err := factory.InformerFor[*corev1.Service](shared)
		require.NoError(t, err)
		a := stopConfigMaps(t, shared)
		require.True(t, isFreed(a))
		require.True(t, services.HasSynced() && !isDone(services.Done()))

		c.Put("a", "2")
		again, err := factory.InformerFor[*corev1.ConfigMap](shared)
		require.NoError(t, err)
		told := notes{}
		_, err = again.AddHandler(telling(&told), handlerOptions{})
		require.NoError(t, err)
		shared.Start(t.Context())
		require.NoError(t, shared.WaitForSync(t.Context()))
		require.Equal(t, []string{"add a"}, told.read())
		now, err := again.Lister().Namespace("default").Get("a")
		require.NoError(t, err)
		require.Equal(t, "2", now.Data["v"])
	})
}

// stopConfigMaps lets the factory's informer on ConfigMaps sync and stop, and returns an object of its store without
// keeping it.
func stopConfigMaps(t *testing.T, shared *factory.Factory) weak.Pointer[corev1.ConfigMap] {
	maps, err := factory.InformerFor[*corev1.ConfigMap](shared)
	require.NoError(t, err)
	shared.Start(t.Context())
	require.NoError(t, shared.WaitForSync(t.Context()))
	objs, err := maps.Lister().List(labels.Everything())
	require.NoError(t, err)
	require.NotEmpty(t, objs)
	require.NoError(t, factory.StopFor[*corev1.ConfigMap](shared))
	require.True(t, isDone(maps.Done()))
	return weak.Make(objs[0])
}

// isFreed runs the garbage collector a few times, for it frees pooled objects only at the second run.
func isFreed(obj weak.Pointer[corev1.ConfigMap]) bool {
	synctest.Wait()
	for range 5 {
		runtime.GC()
	}
	return obj.Value() == nil
}

func cached(informer cache.SharedInformer) weak.Pointer[corev1.ConfigMap] {
	return weak.Make(informer.GetStore().List()[0].(*corev1.ConfigMap))
}
