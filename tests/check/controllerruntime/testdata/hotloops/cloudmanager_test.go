package cloudmanager

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clientgocache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/compat/cache"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/custom"
	"glasswatch/lens"
)

// why is the program's lens. What uses it is in manager.go: what a user adds to it, the test puts there.
var why = lens.New(lens.Options{On: true})

func watched(lw clientgocache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers clientgocache.Indexers) clientgocache.SharedIndexInformer {
	return why.WatchInformer(fmt.Sprintf("%T", obj), cache.NewSharedIndexInformer(lw, obj, resync, indexers))
}

func watchedQueue(name string, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) workqueue.TypedRateLimitingInterface[ctrl.Request] {
	return lens.WatchQueue(why, name, queue)
}

func TestLens(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		require.NoError(t, custom.Define(t.Context(), s.Config, v1.Definition))
		clients, err := custom.NewClient[v1.CloudManager, v1.CloudManagerList](s.Config, v1.Scheme, v1.Resource)
		require.NoError(t, err)
		_, err = clients("default").Create(t.Context(), desired.Example("shop"), metav1.CreateOptions{})
		require.NoError(t, err)
		cfg := rest.CopyConfig(s.Config)
		cfg.QPS, cfg.Burst = 5, 10 // the loop has no end, and goes as fast as it may
		cfg.Wrap(why.Transport)
		apiservertest.Go(t, func(ctx context.Context) error { return Run(ctx, cfg, "default") })
		apiservertest.Pass(10 * time.Second)

		keys := why.Keys()
		require.Len(t, keys, 1)
		require.True(t, keys[0].WakesItself, why.Why("default/shop"))
		require.Equal(t, []string{".status.observedGeneration"}, keys[0].Flapping)
		require.Contains(t, why.Why("default/shop"), "it wakes itself by writing .status.observedGeneration")
		queue := why.Controllers()[0]
		require.Equal(t, []int{0, 0}, []int{queue.QueueLength + queue.Processing - 1, queue.Delayed}, "%+v", queue)
		for _, in := range why.Informers() {
			require.True(t, in.Synced && in.Objects >= 0, "%+v", in)
			require.NotEmpty(t, in.Handlers)
			require.GreaterOrEqual(t, in.Handlers[0].Backlog, 0)
		}
	})
}
