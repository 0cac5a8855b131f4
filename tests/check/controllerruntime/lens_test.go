package controllerruntime

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/lens"
)

// A program on controller-runtime and client-go alone, with a hot loop: the lens says which key wakes itself, and why.
func TestLens_FindsTheHotLoopOfAProgramOnControllerRuntime(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		l := lens.New(lens.Options{On: true})
		apiservertest.Go(t, func(ctx context.Context) error { return runHotLoop(ctx, l, s.Config) })
		apiservertest.Pass(time.Second)
		s.Put("web", "a")
		apiservertest.Pass(time.Second)

		keys := l.Keys()
		require.Len(t, keys, 1)
		require.Equal(t, "default/web", keys[0].Key)
		require.True(t, keys[0].WakesItself, l.Why("default/web"))
		require.Equal(t, []string{".data.value"}, keys[0].Flapping)
		require.Equal(t, "add", keys[0].Reconciles[0].Causes[0].Action)
		require.Equal(t, "*v1.ConfigMap", keys[0].Reconciles[0].Causes[0].Informer)
		require.Contains(t, l.Why("default/web"), "it wakes itself by writing .data.value")
	})
}

func runHotLoop(ctx context.Context, l *lens.Lens, cfg *rest.Config) error {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(l.Transport)
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Cache:   ctrlcache.Options{NewInformer: watched(l)},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	loop := &hotLoop{client: mgr.GetClient()}
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).WithOptions(controller.Options{
		SkipNameValidation: new(true),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return lens.WatchQueue(l, name, workqueue.NewTypedRateLimitingQueue(limiter))
		},
	}).Complete(loop)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// watched makes controller-runtime's informers, and lets the lens look at them.
func watched(l *lens.Lens) func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer {
	return func(lw cache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		name := fmt.Sprintf("%T", obj)
		return l.WatchInformer(name, cache.NewSharedIndexInformer(lw, obj, resync, indexers))
	}
}

// hotLoop writes eight times what it need not write.
type hotLoop struct {
	client client.Client
	writes int
}

func (h *hotLoop) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if h.writes == 8 {
		return reconcile.Result{}, nil
	}
	h.writes++
	var obj corev1.ConfigMap
	if err := h.client.Get(ctx, req.NamespacedName, &obj); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	obj.Data["value"] += "!"
	return reconcile.Result{}, h.client.Update(ctx, &obj)
}
