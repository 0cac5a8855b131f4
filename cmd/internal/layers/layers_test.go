package layers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/operator"
	"glasswatch/controller"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/observe"
	"glasswatch/sharedinformer"
)

func TestMain(m *testing.M) {
	// klog's flush daemon has no way to be stopped.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// A standby follows the cluster, and queues nothing before it may write.
func TestLayers_WaitUntilTheyMayWrite(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		mayWrite, keys := make(chan struct{}), []string{}
		var l *Layers
		var maps *sharedinformer.Informer[*corev1.ConfigMap]
		p := operator.Parts{Namespace: "default", Registerer: prometheus.NewRegistry(), MayWrite: mayWrite}
		l, maps = ofConfigMaps(t, s.Config, p, func(_ context.Context, key listwatch.Key) (controller.Result, error) {
			keys = append(keys, key.Name)
			obj, _ := maps.Store().GetByKey(key)
			l.Recorder.Event(obj, corev1.EventTypeNormal, "Seen", "it was seen")
			return controller.Result{}, nil
		})
		require.ErrorContains(t, l.Ready(), "configmaps: not synced yet")
		apiservertest.Go(t, l.Run)
		for _, namespace := range []string{"default", "kube-system"} {
			s.PutObject(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace}})
		}
		synctest.Wait()
		require.NoError(t, l.Ready())
		require.Equal(t, 1, maps.Store().Len(), "one namespace is looked at")
		require.Empty(t, keys)
		require.Zero(t, l.Loop.Len())
		close(mayWrite)
		synctest.Wait()
		require.Equal(t, []string{"default"}, keys)
		events, err := s.Client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, events.Items, 1)
	})
}

// A Pod's grace period is longer than that.
func TestLayers_GiveAReconcileThreeSecondsToEnd(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		lines := make(chan string, 100)
		logger := funcr.New(func(_, args string) { lines <- args }, funcr.Options{})
		hang := func(ctx context.Context, _ listwatch.Key) (controller.Result, error) {
			<-ctx.Done()
			return controller.Result{}, ctx.Err()
		}
		l, _ := ofConfigMaps(t, s.Config, operator.Parts{}, hang)
		stop := apiservertest.Go(t, func(ctx context.Context) error { return l.Run(klog.NewContext(ctx, logger)) })
		s.Put("slow", "")
		synctest.Wait()
		since := time.Now()
		stop() // without an error: the next start does it again
		require.Equal(t, 3*time.Second, time.Since(since))
		close(lines)
		last := ""
		for line := range lines {
			last = line
		}
		require.Contains(t, last, "Stopped in the middle of a reconcile")
	})
}

func TestLayers_CanBeOtherwise(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		var taken, worked int
		l, _ := ofConfigMaps(t, s.Config, operator.Parts{}, func(context.Context, listwatch.Key) (controller.Result, error) {
			return controller.Result{}, nil
		}, func(loop *controller.Options[listwatch.Key]) {
			loop.Observe = func(seen []observe.Observation[listwatch.Key]) {
				if seen[0].Step == observe.Taken {
					taken++
				}
			}
		})
		l.Work = func(ctx context.Context) error {
			worked++
			return l.Loop.Run(ctx)
		}
		apiservertest.Go(t, l.Run)
		s.Put("one", "")
		synctest.Wait()
		require.Equal(t, []int{1, 1}, []int{taken, worked})
	})
}

// ofConfigMaps returns layers that reconcile ConfigMaps.
func ofConfigMaps(t *testing.T, cfg *rest.Config, p operator.Parts, reconcile controller.Func[listwatch.Key],
	set ...func(*controller.Options[listwatch.Key])) (*Layers, *sharedinformer.Informer[*corev1.ConfigMap]) {
	t.Helper()
	l, err := New(cfg, p, "test", scheme.Scheme, reconcile, set...)
	require.NoError(t, err)
	maps, err := NewInformer(l, corev1.SchemeGroupVersion.WithResource("configmaps"), nil,
		sharedinformer.Options[*corev1.ConfigMap]{})
	require.NoError(t, err)
	Handle(l, maps, controller.EnqueueObject[*corev1.ConfigMap](l.Loop))
	return l, maps
}
