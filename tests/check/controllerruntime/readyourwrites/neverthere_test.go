package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// An object that is created and deleted while the watch is broken: the client waits for its deletion for ever.
func TestNeverThere_ReadsWaitForEver(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		n := &network{resource: "configmaps", loseHistory: func() error { s.Faults().Compact(); return nil }}
		cfg := rest.CopyConfig(s.Config)
		cfg.Wrap(n.around)
		running, err := cluster.New(cfg, func(o *cluster.Options) {
			o.Client.Cache = &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}
		})
		require.NoError(t, err)
		apiservertest.Go(t, running.Start)
		require.True(t, running.GetCache().WaitForCacheSync(t.Context()))
		c := running.GetClient()
		configMap := func(name string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		}
		get := func() error {
			limited, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			return c.Get(limited, client.ObjectKeyFromObject(configMap("gone")), &corev1.ConfigMap{})
		}
		require.True(t, client.IgnoreNotFound(get()) == nil)

		n.cut()
		object := configMap("gone")
		require.NoError(t, c.Create(t.Context(), object))
		require.NoError(t, c.Delete(t.Context(), object))
		require.NoError(t, n.mend())
		apiservertest.Pass(time.Minute) // the cache has listed
		require.ErrorContains(t, get(), "failed to wait for cache to catch up")
		require.NoError(t, c.Create(t.Context(), configMap("other")))
		apiservertest.Pass(time.Minute)
		require.ErrorContains(t, get(), "failed waiting to observe deletes for uids", "another write does not help")
	})
}
