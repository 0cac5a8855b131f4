package install

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var services = corev1.SchemeGroupVersion.WithResource("services")

func service(namespace, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// isOurs tells registrations apart by what only ours can do.
func isOurs(handle any) bool {
	_, ok := handle.(interface{ Err() error })
	return ok
}

func TestInto_TheFactoryRunsEveryKindThatIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		factory := informers.NewSharedInformerFactory(client, 0)
		require.NoError(t, Into(factory, Options{}, &corev1.Service{}, &corev1.Node{}))
		factory.Core().V1().Services().Informer()
		factory.Core().V1().Pods().Informer()
		ctx, cancel := context.WithCancel(t.Context())
		factory.StartWithContext(ctx)
		synctest.Wait()
		cancel()
		factory.Shutdown()
		listed := map[string]bool{}
		for _, action := range client.Actions() {
			listed[action.GetResource().Resource] = true
		}
		require.Equal(t, map[string]bool{"services": true, "pods": true, "nodes": true}, listed,
			"nodes, too, though nothing has asked for them")
	})
}

func TestInto_GeneratedListersReadOurStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(service("web", "a"), service("db", "b"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("web"),
			informers.WithTransform(func(obj any) (any, error) {
				obj.(metav1.Object).SetLabels(map[string]string{"seen": "yes"})
				return obj, nil
			}))
		require.NoError(t, Into(factory, Options{Namespace: "web"}, &corev1.Service{}, &corev1.Node{}, &networkingv1.Ingress{}))
		require.ErrorContains(t, Into(factory, Options{}, &corev1.Service{}), "has an informer of *v1.Service already")
		require.Error(t, Into(factory, Options{}, &metav1.Status{}))

		handle, err := factory.Core().V1().Services().Informer().AddEventHandler(nothing{})
		require.NoError(t, err)
		require.True(t, isOurs(handle))
		handle, err = factory.Core().V1().Pods().Informer().AddEventHandler(nothing{})
		require.NoError(t, err)
		require.False(t, isOurs(handle), "Pods are not installed")

		ctx, cancel := context.WithCancel(t.Context())
		factory.StartWithContext(ctx)
		require.NoError(t, factory.WaitForCacheSyncWithContext(ctx).AsError())
		got, err := factory.Core().V1().Services().Lister().Services("web").Get("a")
		require.NoError(t, err)
		require.Equal(t, "yes", got.Labels["seen"])
		nodes, err := factory.Core().V1().Nodes().Lister().List(labels.Everything())
		require.NoError(t, err)
		require.Len(t, nodes, 1)

		_, err = client.CoreV1().Services("web").Create(ctx, service("web", "c"), metav1.CreateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		all, err := factory.Core().V1().Services().Lister().List(labels.Everything())
		require.NoError(t, err)
		require.Len(t, all, 2, "and not the one of another namespace")
		cancel()
		factory.Shutdown()
	})
}

type nothing struct{}

func (nothing) OnAdd(any, bool)   {}
func (nothing) OnUpdate(any, any) {}
func (nothing) OnDelete(any)      {}

func TestInto_FindsEveryKindThatClientGosFactoriesServe(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	found := 0
	for gvk := range scheme.Scheme.AllKnownTypes() {
		obj, err := scheme.Scheme.New(gvk)
		require.NoError(t, err)
		r, err := resourceOf(obj)
		if err != nil {
			continue // a list, or options
		}
		if _, err := factory.ForResource(r.gvr); err == nil {
			found++
		}
	}
	require.Greater(t, found, 80)
}

func TestDynamicFactory_ServesWhatItsListersAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, service("web", "a"))
		factory := NewDynamicFactory(client, 0, Options{})
		lister := factory.ForResource(services).Lister()
		require.Same(t, factory.ForResource(services), factory.ForResource(services))
		stop := make(chan struct{})
		factory.Start(stop)
		factory.Start(stop)
		require.Equal(t, map[schema.GroupVersionResource]bool{services: true}, factory.WaitForCacheSync(stop))
		obj, err := lister.ByNamespace("web").Get("a")
		require.NoError(t, err)
		require.Equal(t, "a", obj.(metav1.Object).GetName())
		close(stop)
		factory.Shutdown()
	})
}

// TestFactories_OverHTTP is about streaming lists, which fake clients do not have.
func TestFactories_OverHTTP(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Client.CoreV1().Services("default").Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)

		factory := informers.NewSharedInformerFactory(s.Client, 0)
		require.NoError(t, Into(factory, Options{}, &corev1.Service{}))
		lister := factory.Core().V1().Services().Lister()
		dynamicClient, err := dynamic.NewForConfig(s.Config)
		require.NoError(t, err)
		metadataClient, err := metadata.NewForConfig(s.Config)
		require.NoError(t, err)
		dynamics, metas := NewDynamicFactory(dynamicClient, 0, Options{}), NewMetadataFactory(metadataClient, 0, Options{Namespace: "default"})
		generics := []informers.GenericInformer{dynamics.ForResource(services), metas.ForResource(services)}
		factory.Start(ctx.Done())
		dynamics.Start(ctx.Done())
		metas.Start(ctx.Done())
		require.NoError(t, factory.WaitForCacheSyncWithContext(ctx).AsError())
		require.True(t, dynamics.WaitForCacheSync(ctx.Done())[services])
		require.True(t, metas.WaitForCacheSync(ctx.Done())[services])
		_, err = lister.Services("default").Get("a")
		require.NoError(t, err)
		for _, generic := range generics {
			var obj runtime.Object
			obj, err = generic.Lister().ByNamespace("default").Get("a")
			require.NoError(t, err)
			require.Equal(t, "a", obj.(metav1.Object).GetName())
		}
		cancel()
		factory.Shutdown()
		dynamics.Shutdown()
		metas.Shutdown()
	})
}
