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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/operator"
	"glasswatch/controller"
	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

func TestMain(m *testing.M) {
	// klog's flush daemon has no way to be stopped.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// A standby follows the cluster, and queues nothing before it may write.
func TestLayers_WaitUntilTheyMayWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		cfg := serveInPipe(ctx, ended)
		mayWrite, keys := make(chan struct{}), []string{}
		var l *Layers
		var maps *sharedinformer.Informer[*corev1.ConfigMap]
		p := operator.Parts{Namespace: "default", Registerer: prometheus.NewRegistry(), MayWrite: mayWrite}
		l, maps = ofConfigMaps(t, cfg, p, func(_ context.Context, key listwatch.Key) (controller.Result, error) {
			keys = append(keys, key.Name)
			obj, _ := maps.Store().GetByKey(key)
			l.Recorder.Event(obj, corev1.EventTypeNormal, "Seen", "it was seen")
			return controller.Result{}, nil
		})
		require.ErrorContains(t, l.Ready(), "configmaps: not synced yet")
		go func() { ended <- l.Run(ctx) }()

		kube, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		for _, namespace := range []string{"default", "kube-system"} {
			createConfigMap(t, kube, namespace, namespace)
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

// A Pod's grace period is longer than that.
func TestLayers_GiveAReconcileThreeSecondsToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		serving, stopServing := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		cfg := serveInPipe(serving, ended)
		lines := make(chan string, 100)
		logger := funcr.New(func(_, args string) { lines <- args }, funcr.Options{})
		hang := func(ctx context.Context, _ listwatch.Key) (controller.Result, error) {
			<-ctx.Done()
			return controller.Result{}, ctx.Err()
		}
		l, _ := ofConfigMaps(t, cfg, operator.Parts{}, hang)
		ran := make(chan error, 1)
		go func() { ran <- l.Run(klog.NewContext(ctx, logger)) }()
		kube, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		createConfigMap(t, kube, "default", "slow")
		synctest.Wait()
		stop()
		since := time.Now()
		require.NoError(t, <-ran, "the next start does it again")
		require.Equal(t, 3*time.Second, time.Since(since))
		close(lines)
		last := ""
		for line := range lines {
			last = line
		}
		require.Contains(t, last, "Stopped in the middle of a reconcile")
		stopServing()
		require.NoError(t, <-ended)
	})
}

func TestLayers_CanBeOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		cfg := serveInPipe(ctx, ended)
		var taken, worked int
		l, _ := ofConfigMaps(t, cfg, operator.Parts{}, func(context.Context, listwatch.Key) (controller.Result, error) {
			return controller.Result{}, nil
		}, func(loop *controller.Options[listwatch.Key]) {
			loop.Observe = func(o controller.Observation[listwatch.Key]) {
				if o.What == "taken" {
					taken++
				}
			}
		})
		l.Work = func(ctx context.Context) error {
			worked++
			return l.Loop.Run(ctx)
		}
		go func() { ended <- l.Run(ctx) }()
		kube, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		createConfigMap(t, kube, "default", "one")
		synctest.Wait()
		require.Equal(t, []int{1, 1}, []int{taken, worked})
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
	})
}

func serveInPipe(ctx context.Context, ended chan<- error) *rest.Config {
	listener := apiserver.NewPipeListener()
	go func() { ended <- apiserver.New(apiserver.Options{}).Serve(ctx, listener) }()
	return apiserver.RESTConfigFor(listener)
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

func createConfigMap(t *testing.T, kube kubernetes.Interface, namespace, name string) {
	t.Helper()
	_, err := kube.CoreV1().ConfigMaps(namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
}
