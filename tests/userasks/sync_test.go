package userasks

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/reflector"
	"glasswatch/sharedinformer/factory"
)

// A role lacks a verb (403), or a definition is not installed (404). The program waits for its caches for a minute.
func TestASyncThatCannotSucceedSaysWhy(t *testing.T) {
	for _, code := range []int{403, 404} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			clientGo(t, func(t *testing.T) {
				c := startCluster(t)
				c.FailReads(-1, code, "list", "watch")
				client, err := kubernetes.NewForConfig(c.cfg)
				require.NoError(t, err)
				shared := informers.NewSharedInformerFactory(client, 0)
				informer := shared.Core().V1().ConfigMaps().Informer()
				start(t, func(ctx context.Context) { shared.StartWithContext(ctx); <-ctx.Done(); shared.Shutdown() })

				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.False(t, cache.WaitForCacheSync(ctx.Done(), informer.HasSynced))
				// v0.37 has an error, too. It is the context's: who, but not why. The reason is in the log, or with the one
				// handler that SetWatchErrorHandler takes.
				err = shared.WaitForCacheSyncWithContext(ctx).AsError()
				require.EqualError(t, err, "failed to sync all caches: *v1.ConfigMap: context deadline exceeded")
				require.False(t, apierrors.IsForbidden(err) || apierrors.IsNotFound(err))
			})
			glasswatch(t, func(t *testing.T) {
				c := startCluster(t)
				c.FailReads(-1, code, "list", "watch")
				shared := factory.New(c.cfg, factory.Options{
					WatchErrorHandler: func(context.Context, schema.GroupVersionResource, error) {},
				})
				defer shared.Shutdown()
				_, err := factory.InformerFor[*corev1.ConfigMap](shared)
				require.NoError(t, err)
				shared.Start(t.Context())

				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err = shared.WaitForSync(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, code == 403, apierrors.IsForbidden(err))
				require.Equal(t, code == 404, apierrors.IsNotFound(err))
				require.ErrorContains(t, err, "configmaps")
			})
		})
	}
}

// A proxy between the informer and the server drops the bookmark that ends a streaming list.
func TestASyncWithoutABookmarkIsNotWaitedForInSilence(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c := startCluster(t)
		c.Put("a", "1")
		c.Faults().NeverSendInitialBookmark(true)
		informer := c.clientGoInformer(nil)
		start(t, informer.RunWithContext)
		apiservertest.Pass(24 * time.Hour)
		// It logs a warning every ten seconds, and goes on waiting.
		require.False(t, informer.HasSynced())
	})
	glasswatch(t, func(t *testing.T) {
		c := startCluster(t)
		c.Put("a", "1")
		c.Faults().NeverSendInitialBookmark(true)
		failed := notes{}
		informer := c.informer(options{WatchErrorHandler: func(_ context.Context, err error) {
			failed.add("silent: %v", errors.Is(err, reflector.ErrSilent))
		}})
		startInformer(t, informer)
		began := time.Now()
		require.NoError(t, informer.WaitForSync(t.Context()))
		// After half a minute without an event a paged list replaces the streaming one.
		require.Equal(t, 30*time.Second, time.Since(began))
		require.Equal(t, []string{"silent: true"}, failed.read())
	})
}

// If paged lists fail, too, the sync cannot succeed, and reports why.
func TestASyncWithoutABookmarkOrAListSaysWhy(t *testing.T) {
	spoil := func(c *cluster) {
		c.Faults().NeverSendInitialBookmark(true)
		c.FailReads(-1, 403, "list")
	}
	clientGo(t, func(t *testing.T) {
		c := startCluster(t)
		spoil(c)
		informer, failed := c.clientGoInformer(nil), notes{}
		require.NoError(t, informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { failed.add("%v", err) }))
		start(t, informer.RunWithContext)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.False(t, cache.WaitFor(ctx, "", informer.HasSyncedChecker()))
		require.Empty(t, failed.read(), "not even those who listen for errors hear of one")
	})
	glasswatch(t, func(t *testing.T) {
		c := startCluster(t)
		spoil(c)
		informer := c.informer(options{WatchErrorHandler: quiet})
		startInformer(t, informer)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := informer.WaitForSync(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, apierrors.IsForbidden(err))
	})
}
