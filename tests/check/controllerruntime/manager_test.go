package controllerruntime

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientgoworkqueue "k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"glasswatch/compat/cache"
	"glasswatch/compat/workqueue"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

const mark = "example.com/secret"

// A reconciler as people write them: each marked ConfigMap owns a Secret of its name that carries its data.
type reconciler struct {
	client  client.Client
	reading atomic.Int64
}

func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r.reading.Add(1)
	var from corev1.ConfigMap
	if err := r.client.Get(ctx, req.NamespacedName, &from); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if from.Annotations[mark] != "true" {
		return reconcile.Result{}, nil
	}
	secret := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
	_, err := ctrl.CreateOrUpdate(ctx, r.client, &secret, func() error {
		secret.StringData = nil
		secret.Data = map[string][]byte{"v": []byte(from.Data["v"])}
		return ctrl.SetControllerReference(&from, &secret, scheme.Scheme)
	})
	return reconcile.Result{}, err
}

// byValue is an index that the cache keeps on the informer's store.
const byValue = "data.v"

// run starts a manager whose cache and controller are made of our parts, and stops it when the test ends.
func run(t *testing.T, cfg *rest.Config) (client.Client, *reconciler) {
	t.Helper()
	ctrl.SetLogger(klog.Background())
	skipNameValidation := true
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache:   ctrlcache.Options{NewInformer: cache.NewSharedIndexInformer},
	})
	require.NoError(t, err)
	require.NoError(t, mgr.GetFieldIndexer().IndexField(t.Context(), &corev1.ConfigMap{}, byValue, func(obj client.Object) []string {
		return []string{obj.(*corev1.ConfigMap).Data["v"]}
	}))
	r := &reconciler{client: mgr.GetClient()}
	require.NoError(t, ctrl.NewControllerManagedBy(mgr).
		For(&corev1.ConfigMap{}).
		Owns(&corev1.Secret{}).
		WithOptions(controller.Options{
			SkipNameValidation: &skipNameValidation,
			NewQueue: func(name string, limiter clientgoworkqueue.TypedRateLimiter[reconcile.Request]) clientgoworkqueue.TypedRateLimitingInterface[reconcile.Request] {
				return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name})
			},
		}).
		Complete(r))

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-stopped)
	})
	require.True(t, mgr.GetCache().WaitForCacheSync(ctx))
	return mgr.GetClient(), r
}

func TestManager_ReconcilesOnOurInformersAndQueue(t *testing.T) {
	s := apiservertest.StartOnSocket(t, apiserver.Options{})
	c, r := run(t, s.Config)
	ctx := t.Context()
	key := client.ObjectKey{Namespace: "default", Name: "web"}
	secretHas := func(want, what string) {
		apiservertest.Eventually(t, what, func() error {
			var secret corev1.Secret
			err := c.Get(ctx, key, &secret)
			if err == nil && string(secret.Data["v"]) != want {
				err = fmt.Errorf("want %s, got %s", want, secret.Data["v"])
			}
			return err
		})
	}

	from := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Annotations: map[string]string{mark: "true"}},
		Data:       map[string]string{"v": "1"},
	}
	require.NoError(t, c.Create(ctx, from))
	secretHas("1", "a marked ConfigMap gets its Secret")

	from.Data["v"] = "2"
	require.NoError(t, c.Update(ctx, from))
	secretHas("2", "the Secret follows")

	var found corev1.ConfigMapList
	apiservertest.Eventually(t, "the cache answers from its index", func() error {
		err := c.List(ctx, &found, client.InNamespace("default"), client.MatchingFields{byValue: "2"})
		if err == nil && len(found.Items) != 1 {
			err = fmt.Errorf("want one, got %v", found.Items)
		}
		return err
	})
	require.NoError(t, c.List(ctx, &found, client.InNamespace("default"), client.MatchingFields{byValue: "1"}))
	require.Empty(t, found.Items)

	require.NoError(t, c.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}))
	secretHas("2", "a deleted Secret comes back")

	s.Faults().BreakWatches()
	from.Data["v"] = "3"
	require.NoError(t, c.Update(ctx, from))
	secretHas("3", "a broken watch costs nothing")

	require.NoError(t, c.Delete(ctx, from))
	apiservertest.Eventually(t, "the cache forgets what is gone", func() error {
		err := c.Get(ctx, key, &corev1.ConfigMap{})
		if !errors.IsNotFound(err) {
			return fmt.Errorf("want not found, got %v", err)
		}
		return nil
	})
	require.Positive(t, r.reading.Load())
}
