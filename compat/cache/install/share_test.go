package install

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/compat/cache"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// inhabitants is how many config maps a town has. The memo may miss that a part came before, and so share it from a later
// object on. With so many of them the last two share.
const inhabitants = 20

// town is an API server in memory with config maps that are equal but for their names.
type town struct {
	server *apiservertest.Server
	config *rest.Config // may be changed
	client kubernetes.Interface
}

// inTown runs a test in virtual time. The context that it gets ends with the test.
func inTown(t *testing.T, tell func(t *testing.T, ctx context.Context, s *town)) {
	t.Helper()
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		s := &town{server: server, config: rest.CopyConfig(server.Config), client: server.Client}
		for n := range inhabitants {
			s.Put(t, "default", fmt.Sprint("config-", n))
		}
		tell(t, t.Context(), s)
	})
}

func (s *town) Put(t *testing.T, namespace, name string) {
	t.Helper()
	_, err := s.client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app": "shop"}, Annotations: map[string]string{"note": "short"},
		},
		Data: map[string]string{"value": "a value of all"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// run runs an informer until the test ends, and waits until it has synced.
func run(t *testing.T, ctx context.Context, informer cache.SharedIndexInformer) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	require.True(t, clientgo.WaitForCacheSync(ctx.Done(), informer.HasSynced))
}

func configMap(t *testing.T, informer cache.SharedIndexInformer, key string) *corev1.ConfigMap {
	t.Helper()
	obj, found, err := informer.GetStore().GetByKey(key)
	require.NoError(t, err)
	require.True(t, found, key)
	return obj.(*corev1.ConfigMap)
}

// shares reports whether two objects have one map of labels, and that they are right. The first few objects never share.
func shares(t *testing.T, informer cache.SharedIndexInformer, keys ...string) bool {
	t.Helper()
	first, second := configMap(t, informer, keys[0]), configMap(t, informer, keys[1])
	require.Equal(t, map[string]string{"app": "shop"}, first.Labels)
	require.Equal(t, map[string]string{"app": "shop"}, second.Labels)
	require.Equal(t, map[string]string{"value": "a value of all"}, second.Data)
	return reflect.ValueOf(first.Labels).UnsafePointer() == reflect.ValueOf(second.Labels).UnsafePointer()
}

func TestInformers_ShareEqualPartsByDefault(t *testing.T) {
	for name, c := range map[string]struct {
		environment    string
		options        Options
		ours, expected bool
	}{
		"by default":               {"", Options{}, true, true},
		"with a tweak":             {"", Options{TweakListOptions: func(*metav1.ListOptions) {}}, true, true},
		"not if it is off":         {"", Options{DisableSharing: true}, true, false},
		"not if the variable says": {"unshared", Options{}, true, false},
		"not client-go's":          {"client-go", Options{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(Environment, c.environment)
			inTown(t, func(t *testing.T, ctx context.Context, s *town) {
				factory := informers.NewSharedInformerFactory(s.client, 0)
				require.NoError(t, Into(factory, c.options, &corev1.ConfigMap{}))
				installed := factory.Core().V1().ConfigMaps().Informer()
				alone, err := NewInformer(s.client, &corev1.ConfigMap{}, c.options, cache.SharedIndexInformerOptions{})
				require.NoError(t, err)
				for _, informer := range []cache.SharedIndexInformer{installed, alone} {
					handle, err := informer.AddEventHandler(nothing{})
					require.NoError(t, err)
					require.Equal(t, c.ours, isOurs(handle))
					run(t, ctx, informer)
					require.Equal(t, c.expected, shares(t, informer, "default/config-8", "default/config-9"))
				}
				s.Put(t, "default", "later")
				synctest.Wait()
				require.Equal(t, c.expected, shares(t, installed, "default/config-9", "default/later"), "an event of a watch")
			})
		})
	}
}

func TestInformers_AnUnknownWordInTheEnvironmentIsAnError(t *testing.T) {
	t.Setenv(Environment, "none")
	const want = `GLASSWATCH_INFORMERS is "none"; allowed are "client-go", "unshared", and nothing`
	require.EqualError(t, Into(informers.NewSharedInformerFactory(kubernetes.New(nil), 0), Options{}, service("", "")), want)
	_, err := NewInformer(kubernetes.New(nil), service("", ""), Options{}, cache.SharedIndexInformerOptions{})
	require.EqualError(t, err, want)
	require.PanicsWithError(t, want, func() { NewSharedIndexInformer(nil, service("", ""), 0, nil) })
	require.PanicsWithError(t, want, func() { NewDynamicFactory(nil, 0, Options{}) })
	require.PanicsWithError(t, want, func() { NewMetadataFactory(nil, 0, Options{}) })
}

// A program's own closures know namespace and selectors. What they ask for is what the informer gets.
func TestNewSharedIndexInformer_ListsWhatTheClosuresList(t *testing.T) {
	inTown(t, func(t *testing.T, ctx context.Context, s *town) {
		s.Put(t, "kube-system", "elsewhere")
		s.config.Wrap(Transport)
		client, err := kubernetes.NewForConfig(s.config)
		require.NoError(t, err)
		for name, c := range map[string]struct {
			client   kubernetes.Interface
			expected bool
		}{"with the transport": {client, true}, "without": {s.client, false}} {
			of := c.client.CoreV1().ConfigMaps("default")
			informer := NewSharedIndexInformer(&cache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
					opts.FieldSelector = "metadata.name!=config-0"
					return of.List(ctx, opts)
				},
				WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
					opts.FieldSelector = "metadata.name!=config-0"
					return of.Watch(ctx, opts)
				},
			}, &corev1.ConfigMap{}, 0, nil)
			run(t, ctx, informer)
			require.Len(t, informer.GetStore().ListKeys(), inhabitants-1, name)
			require.Equal(t, c.expected, shares(t, informer, "default/config-8", "default/config-9"), name)
		}
	})
}

// A program may wrap its clientset, to filter for instance. What its wrapper does must happen.
func TestInformers_AskAWrappedClientsetItself(t *testing.T) {
	inTown(t, func(t *testing.T, ctx context.Context, s *town) {
		informer, err := NewInformer(struct{ kubernetes.Interface }{s.client}, &corev1.ConfigMap{}, Options{}, cache.SharedIndexInformerOptions{})
		require.NoError(t, err)
		run(t, ctx, informer)
		require.False(t, shares(t, informer, "default/config-8", "default/config-9"))
	})
}

// stopped is a watch that counts how often it is stopped.
type stopped struct {
	watch.Interface
	times *atomic.Int32
}

func (s stopped) Stop() { s.times.Add(1); s.Interface.Stop() }

func TestNewSharedIndexInformer_StopsTheWatchesOfItsClosures(t *testing.T) {
	inTown(t, func(t *testing.T, ctx context.Context, s *town) {
		s.config.Wrap(Transport)
		client, err := kubernetes.NewForConfig(s.config)
		require.NoError(t, err)
		of := client.CoreV1().ConfigMaps("default")
		var begun, ended atomic.Int32
		informer := NewSharedIndexInformer(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				return of.List(ctx, opts)
			},
			WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				w, err := of.Watch(ctx, opts)
				begun.Add(1)
				return stopped{w, &ended}, err
			},
		}, &corev1.ConfigMap{}, 0, nil)
		run(t, ctx, informer)
		require.True(t, shares(t, informer, "default/config-8", "default/config-9"))
		for range 3 {
			s.server.Faults().DropWatches()
			<-time.After(time.Minute) // of virtual time
		}
		require.Equal(t, int32(4), begun.Load())
		require.Equal(t, int32(3), ended.Load())
	})
}
