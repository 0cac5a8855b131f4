package lens

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"glasswatch/compat/cache/install"
	ourqueue "glasswatch/compat/workqueue"
	"glasswatch/controller"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// work is what a program does with the key of a ConfigMap.
type work func(ctx context.Context, client kubernetes.Interface, key listwatch.Key) error

// program does its work on ConfigMaps under a lens until ctx ends. Without a lens, which is nil, nothing looks on.
type program func(ctx context.Context, l *Lens, cfg *rest.Config, does work) error

// programs do the same: one on our layers, one on client-go alone, and that one with ours in place of client-go's.
var programs = map[string]program{"our layers": onOurLayers, "client-go": onClientGo, "facades": onFacades}

func onOurLayers(ctx context.Context, l *Lens, cfg *rest.Config, does work) error {
	client := kubernetes.NewForConfigOrDie(cfg)
	lw, err := listwatch.NewForConfig[*corev1.ConfigMap](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{})
	if err != nil {
		return err
	}
	opts, queueOpts := sharedinformer.Options[*corev1.ConfigMap]{}, controller.Options[listwatch.Key]{BaseDelay: time.Second}
	if l != nil {
		opts.Observe, queueOpts.Observe = l.ObserveInformer("configmaps"), ObserveController[listwatch.Key](l, "mine")
	}
	informer := sharedinformer.New(lw, opts)
	c := controller.New(controller.Func[listwatch.Key](func(ctx context.Context, key listwatch.Key) (controller.Result, error) {
		return controller.Result{}, does(ctx, client, key)
	}), queueOpts)
	if l != nil {
		l.AddInformer("configmaps", informer)
		l.AddQueue("mine", c)
	}
	if _, err := informer.AddHandler(controller.EnqueueObject[*corev1.ConfigMap](c), sharedinformer.HandlerOptions{Name: "mine"}); err != nil {
		return err
	}
	ended := make(chan error)
	go func() { ended <- informer.Run(ctx) }()
	return errors.Join(c.Run(ctx), <-ended)
}

// limiterOf is that of both of the programs without our layers.
func limiterOf() workqueue.TypedRateLimiter[cache.ObjectName] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](time.Second, time.Hour)
}

func onClientGo(ctx context.Context, l *Lens, cfg *rest.Config, does work) error {
	client := kubernetes.NewForConfigOrDie(cfg)
	factory := informers.NewSharedInformerFactory(client, 0)
	return withFactory(ctx, l, client, factory, workqueue.NewTypedRateLimitingQueue(limiterOf()), does)
}

func onFacades(ctx context.Context, l *Lens, cfg *rest.Config, does work) error {
	client := kubernetes.NewForConfigOrDie(cfg)
	factory := informers.NewSharedInformerFactory(client, 0)
	if err := install.Into(factory, install.Options{}, &corev1.ConfigMap{}); err != nil {
		return err
	}
	return withFactory(ctx, l, client, factory, ourqueue.NewTypedRateLimitingQueue(limiterOf()), does)
}

func withFactory(
	ctx context.Context, l *Lens, client kubernetes.Interface, factory informers.SharedInformerFactory,
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName], does work,
) error {
	informer := factory.Core().V1().ConfigMaps().Informer()
	if l != nil {
		informer = l.WatchInformer("configmaps", informer)
		queue = WatchQueue(l, "mine", queue)
	}
	enqueue := func(obj any) {
		if key, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			queue.Add(key)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue,
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			if err := does(ctx, client, listwatch.Key(key.AsNamespacedName())); err != nil {
				queue.AddRateLimited(key)
			} else {
				queue.Forget(key)
			}
			queue.Done(key)
		}
	}()
	<-ctx.Done()
	queue.ShutDown()
	factory.Shutdown()
	<-ended
	return nil
}

// flips writes a field as often as it sees that it was not written times times: a hot loop that ends.
func flips(times int) work {
	written := 0
	return func(ctx context.Context, client kubernetes.Interface, key listwatch.Key) error {
		if written == times {
			return nil
		}
		written++
		obj, err := client.CoreV1().ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		obj.Data["value"] += "!"
		_, err = client.CoreV1().ConfigMaps(key.Namespace).Update(ctx, obj, metav1.UpdateOptions{})
		return err
	}
}

// under runs all programs under a lens, in virtual time, with requests in JSON and in protobuf.
func under(t *testing.T, opts Options, does func() work, test func(t *testing.T, s *apiservertest.Server, l *Lens)) {
	for name, run := range programs {
		for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			t.Run(name+" "+contentType, func(t *testing.T) {
				apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
					l := New(opts)
					cfg := rest.CopyConfig(s.Config)
					cfg.ContentType = contentType
					cfg.Wrap(l.Transport)
					apiservertest.Go(t, func(ctx context.Context) error { return run(ctx, l, cfg, does()) })
					apiservertest.Pass(time.Second)
					test(t, s, l)
				})
			})
		}
	}
}

// only returns what is known of the one key that there is.
func only(t *testing.T, l *Lens) Key {
	t.Helper()
	keys := l.Keys()
	require.Len(t, keys, 1)
	return keys[0]
}

func TestKey_ThatWakesItselfIsFoundWithTheFieldThatFlaps(t *testing.T) {
	under(t, Options{On: true}, func() work { return flips(8) }, func(t *testing.T, s *apiservertest.Server, l *Lens) {
		s.Put("web", "a")
		apiservertest.Pass(time.Second)
		k := only(t, l)
		require.Equal(t, "default/web", k.Key)
		require.Equal(t, "mine", k.Controller)
		require.Equal(t, 9, k.Total)
		require.False(t, k.Running)
		require.False(t, k.Stuck)
		require.True(t, k.WakesItself)
		require.Equal(t, []string{".data.value"}, k.Flapping)

		first, second := k.Reconciles[0], k.Reconciles[1]
		require.Equal(t, "add", first.Causes[0].Action)
		require.Empty(t, first.Causes[0].OwnWriteOf)
		require.Len(t, first.Writes, 1)
		require.Equal(t, 200, first.Writes[0].Code)
		require.Equal(t, "default/web", first.Writes[0].Object)
		cause := second.Causes[0]
		require.Equal(t, "update", cause.Action)
		require.Equal(t, "configmaps", cause.Informer)
		require.Equal(t, "default/web", cause.OwnWriteOf)
		require.Equal(t, first.Writes[0].ResourceVersion, cause.ResourceVersion)
		require.Contains(t, l.Why("default/web"), "mine reconciled it 9 times, last because of update of configmaps default/web")
		require.Contains(t, l.Why("default/web"), "it wakes itself by writing .data.value")

		s.Put("web", "from outside")
		apiservertest.Pass(time.Second)
		k = only(t, l)
		require.False(t, k.WakesItself, "the newest reconcile has another cause")
		require.Empty(t, k.Reconciles[k.Total-1].Causes[0].OwnWriteOf)

		in := l.Informers()[0]
		require.True(t, in.IsVisible && in.Synced)
		require.Equal(t, 10, in.Handlers[0].Calls)
		require.False(t, in.LastEvent.IsZero())
		require.Equal(t, 0, l.Controllers()[0].QueueLength)
	})
}

func TestKey_ThatFailsIsStuckUntilItSucceeds(t *testing.T) {
	failures := func() work {
		left := 3
		return func(context.Context, kubernetes.Interface, listwatch.Key) error {
			if left == 0 {
				return nil
			}
			left--
			return apierrors.NewBadRequest("not today")
		}
	}
	under(t, Options{On: true}, failures, func(t *testing.T, s *apiservertest.Server, l *Lens) {
		s.Put("web", "a")
		apiservertest.Pass(3500 * time.Millisecond) // after 1 s and 3 s; the next one is after 7 s
		k := only(t, l)
		require.Equal(t, 3, k.Total)
		require.True(t, k.Stuck)
		require.Equal(t, "retry", k.Reconciles[1].Causes[0].Action)
		require.Equal(t, "retry", k.Pending[0].Action)
		require.Equal(t, 3, k.Retries)
		if queue := l.Controllers()[0]; queue.Delayed >= 0 {
			require.Equal(t, k.Due, queue.NextDue[0].Due)
			require.Equal(t, 3500*time.Millisecond, time.Until(k.Due).Round(100*time.Millisecond))
		} else {
			require.Zero(t, k.Due)
		}
		require.Contains(t, k.Reconciles[2].Outcome, failed)
		apiservertest.Pass(4 * time.Second)
		k = only(t, l)
		require.Equal(t, "ok", k.Reconciles[3].Outcome)
		require.False(t, k.Stuck)
		require.Empty(t, k.Pending)
		require.Zero(t, k.Due)
		require.Zero(t, k.Retries)
	})
}

func TestKey_OfADeletionThatItMadeItself(t *testing.T) {
	deletes := func() work {
		return func(ctx context.Context, client kubernetes.Interface, key listwatch.Key) error {
			err := client.CoreV1().ConfigMaps(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		}
	}
	under(t, Options{On: true}, deletes, func(t *testing.T, s *apiservertest.Server, l *Lens) {
		s.Put("web", "a")
		apiservertest.Pass(time.Second)
		k := only(t, l)
		require.Equal(t, "delete", k.Reconciles[1].Causes[0].Action)
		require.Equal(t, "default/web", k.Reconciles[1].Causes[0].OwnWriteOf)
		require.Equal(t, 404, k.Reconciles[1].Writes[0].Code)
	})
}

func TestSwitch_NothingIsKnownOfWhatHappenedWhileItWasOff(t *testing.T) {
	under(t, Options{}, func() work { return flips(2) }, func(t *testing.T, s *apiservertest.Server, l *Lens) {
		s.Put("web", "a")
		apiservertest.Pass(time.Second)
		require.Empty(t, l.Keys())
		require.Equal(t, "default/web: the lens is off", l.Why("default/web"))
		l.Switch(true)
		require.Equal(t, "default/web: nothing is known of it", l.Why("default/web"))
		s.Put("web", "b")
		apiservertest.Pass(time.Second)
		require.Equal(t, 1, only(t, l).Total)
		l.Switch(false)
		s.Put("web", "c")
		apiservertest.Pass(time.Second)
		require.Equal(t, 1, only(t, l).Total)
	})
}
