// Package sample is a program's code as it is written for client-go: nothing in it knows of glasswatch. It is tested as it
// stands, and by the package above with its one import changed.
package sample

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const byApp = "app"

// controller notes which Services each app has.
type controller struct {
	informer cache.SharedIndexInformer
	lister   corelisters.ServiceLister
	handle   cache.ResourceEventHandlerRegistration
	queue    workqueue.TypedRateLimitingInterface[string]

	mu   sync.Mutex
	apps map[string][]string // app to the names of its Services
	gone []string
}

func newListWatch(client kubernetes.Interface) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Services(metav1.NamespaceAll).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Services(metav1.NamespaceAll).Watch(ctx, options)
		},
	}, client)
}

func newController(client kubernetes.Interface) (*controller, error) {
	c := &controller{
		informer: cache.NewSharedIndexInformer(newListWatch(client), &corev1.Service{}, 10*time.Minute,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
		apps:  map[string][]string{},
	}
	if err := c.informer.AddIndexers(cache.Indexers{byApp: func(obj any) ([]string, error) {
		return []string{obj.(*corev1.Service).Labels["app"]}, nil
	}}); err != nil {
		return nil, err
	}
	if err := c.informer.SetTransform(cache.TransformFunc(func(obj any) (any, error) {
		if service, ok := obj.(*corev1.Service); ok {
			service.ManagedFields = nil
		}
		return obj, nil
	})); err != nil {
		return nil, err
	}
	if err := c.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		cache.DefaultWatchErrorHandler(ctx, r, err)
	}); err != nil {
		return nil, err
	}
	c.lister = corelisters.NewServiceLister(c.informer.GetIndexer())
	var err error
	c.handle, err = c.informer.AddEventHandler(cache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool {
			key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
			return err == nil && key != "default/kubernetes"
		},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    c.enqueue,
			UpdateFunc: func(_, obj any) { c.enqueue(obj) },
			DeleteFunc: c.enqueue,
		},
	})
	return c, err
}

func (c *controller) enqueue(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = cache.ExplicitKey(tombstone.Key)
	}
	key, err := cache.MetaNamespaceKeyFunc(obj)
	if err == nil {
		c.queue.Add(key)
	}
}

func (c *controller) run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer c.queue.ShutDown()
	wg.Go(func() { c.informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced, c.handle.HasSynced) {
		return errors.New("the cache has not synced")
	}
	if !cache.WaitFor(ctx, "services", c.informer.HasSyncedChecker(), c.handle.HasSyncedChecker()) {
		return errors.New("the cache has not synced")
	}
	wg.Go(func() {
		for c.next() {
		}
	})
	<-ctx.Done()
	return nil
}

func (c *controller) next() bool {
	key, quit := c.queue.Get()
	if quit {
		return false
	}
	defer c.queue.Done(key)
	if err := c.reconcile(key); err != nil {
		c.queue.AddRateLimited(key)
	} else {
		c.queue.Forget(key)
	}
	return true
}

func (c *controller) reconcile(key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	service, err := c.lister.Services(namespace).Get(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if apierrors.IsNotFound(err) {
		c.gone = append(c.gone, key)
		return nil
	} else if err != nil {
		return err
	}
	siblings, err := c.informer.GetIndexer().IndexKeys(byApp, service.Labels["app"])
	if err != nil {
		return err
	}
	slices.Sort(siblings)
	c.apps[service.Labels["app"]] = siblings
	return nil
}

func service(namespace, name, app string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{"app": app},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}},
	}}
}

func TestController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(service("default", "kubernetes", ""), service("shop", "web", "shop"))
		c, err := newController(client)
		require.NoError(t, err)
		t.Logf("the registration is a %T", c.handle)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.run(ctx) }()
		<-time.After(time.Second)

		services := client.CoreV1().Services("shop")
		_, err = services.Create(ctx, service("shop", "db", "shop"), metav1.CreateOptions{})
		require.NoError(t, err)
		<-time.After(time.Second)
		require.NoError(t, services.Delete(ctx, "web", metav1.DeleteOptions{}))
		<-time.After(time.Second)
		all, err := c.lister.List(labels.SelectorFromSet(labels.Set{"app": "shop"}))
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Empty(t, all[0].ManagedFields)
		<-time.After(time.Hour) // resyncs
		cancel()
		require.NoError(t, <-ended)
		require.True(t, c.informer.IsStopped())
		require.Equal(t, map[string][]string{"shop": {"shop/db"}}, c.apps)
		require.Equal(t, []string{"shop/web"}, c.gone)
	})
}

// TestHandlersOnAStoreFilledByHand is how programs test what reads a lister.
func TestHandlersOnAStoreFilledByHand(t *testing.T) {
	c, err := newController(fake.NewClientset())
	require.NoError(t, err)
	defer c.queue.ShutDown()
	require.NoError(t, c.informer.GetIndexer().Add(service("shop", "web", "shop")))
	require.NoError(t, c.informer.GetStore().Add(service("shop", "db", "shop")))
	require.NoError(t, c.reconcile("shop/web"))
	require.NoError(t, c.reconcile("shop/nothing"))
	require.Equal(t, map[string][]string{"shop": {"shop/db", "shop/web"}}, c.apps)
	require.Equal(t, []string{"shop/nothing"}, c.gone)
}

func TestControllerOfOnesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(service("shop", "web", "shop"))
		store, inner := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: newListWatch(client), ObjectType: &corev1.Service{}, Handler: cache.ResourceEventHandlerFuncs{},
		})
		mirror := cache.NewStore(cache.MetaNamespaceKeyFunc)
		reflector := cache.NewReflector(newListWatch(client), &corev1.Service{}, mirror, 0)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { inner.RunWithContext(ctx) })
		wg.Go(func() { reflector.RunWithContext(ctx) })
		require.True(t, cache.WaitForCacheSync(ctx.Done(), inner.HasSynced))
		synctest.Wait()
		require.Equal(t, []string{"shop/web"}, store.ListKeys())
		require.Equal(t, []string{"shop/web"}, mirror.ListKeys())
		cancel()
		wg.Wait()
	})
}
