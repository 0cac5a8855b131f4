package userasks

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/apiserver/apiservertest"
)

// A reconciler creates an object, and then asks the cache whether it exists. The watch is down, so the cache does not
// have it yet, and the reconciler creates a second object.
func TestAReaderCanWaitForItsOwnWrite(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c := startCluster(t)
		informer := c.clientGoInformer(nil)
		lister := corelisters.NewConfigMapLister(informer.GetIndexer()).ConfigMaps("default")
		start(t, informer.RunWithContext)
		require.True(t, cache.WaitFor(t.Context(), "", informer.HasSyncedChecker()))
		c.loseTheWatch()
		written := c.Put("mine", "1")
		_, err := lister.Get("mine")
		require.True(t, apierrors.IsNotFound(err))

		// client-go has no call that waits. Since v0.35 the store has a resourceVersion, so a program can poll it and
		// compare versions itself. (NewIntegerResourceVersionMutationCache puts the program's writes over the store
		// instead.)
		for informer.GetStore().LastStoreSyncResourceVersion() != written.ResourceVersion {
			apiservertest.Pass(100 * time.Millisecond)
		}
		_, err = lister.Get("mine")
		require.NoError(t, err)
	})
	glasswatch(t, func(t *testing.T) {
		c := startCluster(t)
		informer := c.informer(options{WatchErrorHandler: quiet})
		lister := informer.Lister().Namespace("default")
		startInformer(t, informer)
		require.NoError(t, informer.WaitForSync(t.Context()))
		c.loseTheWatch()
		written := c.Put("mine", "1")
		_, err := lister.Get("mine")
		require.True(t, apierrors.IsNotFound(err))

		require.NoError(t, informer.WaitForResourceVersion(t.Context(), written.ResourceVersion))
		mine, err := lister.Get("mine")
		require.NoError(t, err)
		require.Equal(t, written.ResourceVersion, mine.ResourceVersion)

		// A write outside the informer's selector brings no event. Only a bookmark brings its version.
		elsewhere := configMap("elsewhere", "1")
		elsewhere.Namespace = "kube-system"
		written = c.PutObject(elsewhere)
		began := time.Now()
		require.NoError(t, informer.WaitForResourceVersion(t.Context(), written.ResourceVersion))
		require.Positive(t, time.Since(began))
	})
}

// loseTheWatch ends the watch, and the next one fails.
func (c *cluster) loseTheWatch() {
	synctest.Wait()
	c.FailReads(1, 503, "watch")
	require.NotZero(c, c.Faults().DropWatches())
	synctest.Wait()
}
