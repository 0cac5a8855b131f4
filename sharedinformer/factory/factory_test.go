package factory

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

func TestFactory_SharesOneInformerPerType(t *testing.T) {
	onTheWire(t, Options{}, func(t *testing.T, f *Factory, w *wire) {
		services, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		again, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		require.Same(t, services, again)
		byName, err := f.ForResource(servicesGVR)
		require.NoError(t, err)
		require.Equal(t, servicesGVR, byName.Resource())
		require.Equal(t, "services.v1", byName.Name())

		nodes, err := f.ForResource(nodesGVR) // the other way round they are two, as Go cannot make a type at run time
		require.NoError(t, err)
		typedNodes, err := InformerFor[*corev1.Node](f)
		require.NoError(t, err)

		var heard []string
		_, err = byName.AddHandler(sharedinformer.HandlerFuncs[listwatch.Object]{AddFunc: func(obj listwatch.Object, initial bool) {
			require.IsType(t, &corev1.Service{}, obj)
			require.True(t, initial)
			heard = append(heard, obj.GetName())
		}}, sharedinformer.HandlerOptions{})
		require.NoError(t, err)

		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		synctest.Wait()
		require.ElementsMatch(t, []string{"web", "db"}, heard)
		require.Equal(t, 1, typedNodes.Store().Len())
		objs, err := nodes.Lister().List(nil)
		require.NoError(t, err)
		require.Len(t, objs, 1)
		require.IsType(t, &corev1.Node{}, objs[0])
		web, err := byName.Lister().Namespace("shop").Get("web")
		require.NoError(t, err)
		require.Equal(t, "web", web.GetName())
		none, err := byName.Lister().Namespace("shop").Get("none")
		require.True(t, apierrors.IsNotFound(err))
		require.Nil(t, none, "no interface around a nil pointer")
		require.Len(t, w.said(), 2*3, "one list and one watch each")
	})
}

func TestFactory_LateInformerWaitsForTheNextStart(t *testing.T) {
	onTheWire(t, Options{}, func(t *testing.T, f *Factory, w *wire) {
		f.Start(t.Context())
		services, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, w.said())
		require.NoError(t, f.WaitForSync(t.Context()), "nobody waits for what was not started")
		f.Start(t.Context())
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		require.True(t, services.HasSynced())
	})
}

func TestFactory_NarrowsToNamespaceAndListOptions(t *testing.T) {
	opts := Options{
		Namespace:        "shop",
		TweakListOptions: func(o *metav1.ListOptions) { o.LabelSelector = "app=web" },
	}
	onTheWire(t, opts, func(t *testing.T, f *Factory, w *wire) {
		_, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		_, err = InformerFor[*corev1.Node](f)
		require.NoError(t, err)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		synctest.Wait()
		require.ElementsMatch(t, []string{
			"list /api/v1/namespaces/shop/services?app=web", "watch /api/v1/namespaces/shop/services?app=web",
			"list /api/v1/nodes?app=web", "watch /api/v1/nodes?app=web", // of cluster scope
		}, w.said())
	})
}

func TestFactory_ResyncPerType(t *testing.T) {
	opts := Options{DefaultResync: time.Minute, Resync: map[reflect.Type]time.Duration{reflect.TypeFor[*corev1.Node](): time.Hour}}
	onTheWire(t, opts, func(t *testing.T, f *Factory, _ *wire) {
		var mu sync.Mutex // two informers, two goroutines
		resyncs := map[string]int{}
		for _, gvr := range []schema.GroupVersionResource{servicesGVR, nodesGVR} {
			informer, err := f.ForResource(gvr)
			require.NoError(t, err)
			_, err = informer.AddHandler(sharedinformer.HandlerFuncs[listwatch.Object]{UpdateFunc: func(_, obj listwatch.Object) {
				mu.Lock()
				defer mu.Unlock()
				resyncs[obj.GetName()]++
			}}, sharedinformer.HandlerOptions{})
			require.NoError(t, err)
		}
		f.Start(t.Context())
		<-time.After(time.Hour + time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, map[string]int{"web": 60, "db": 60, "n1": 1}, resyncs)
	})
}

func TestFactory_TransformsEveryType(t *testing.T) {
	var mu sync.Mutex // two informers, two goroutines
	var failed []string
	opts := Options{
		Transform: func(obj listwatch.Object) (listwatch.Object, error) {
			if obj.GetName() == "db" {
				return &corev1.Pod{}, nil // another type: refused
			}
			if obj.GetName() == "n1" {
				return nil, errors.New("unfit")
			}
			obj.SetLabels(nil)
			return obj, nil
		},
		OnObjectError: func(gvr schema.GroupVersionResource, k listwatch.Key, err error) {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, gvr.Resource+" "+k.Name)
			if err == nil {
				t.Error("an error without an error")
			}
		},
	}
	onTheWire(t, opts, func(t *testing.T, f *Factory, _ *wire) {
		services, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		_, err = InformerFor[*corev1.Node](f)
		require.NoError(t, err)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		require.ElementsMatch(t, []string{"services db", "nodes n1"}, failed)
		web, err := services.Lister().Namespace("shop").Get("web")
		require.NoError(t, err)
		require.Empty(t, web.Labels)
	})
}

func TestFactory_UnknownResourcesAreUnstructuredOrMetadata(t *testing.T) {
	onTheWire(t, Options{}, func(t *testing.T, f *Factory, w *wire) {
		widgets, err := f.ForResource(widgetsGVR)
		require.NoError(t, err)
		again, err := f.ForResource(widgetsGVR)
		require.NoError(t, err)
		require.Equal(t, widgets, again)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		objs, err := widgets.Lister().List(nil)
		require.NoError(t, err)
		require.Len(t, objs, 1)
		require.IsType(t, &unstructured.Unstructured{}, objs[0])

		metadata, err := f.ForMetadata(servicesGVR)
		require.NoError(t, err)
		require.Equal(t, "services.v1 (metadata)", metadata.Name())
		w.mu.Lock()
		w.lists["/api/v1/services"] = listOf("PartialObjectMetadata", "meta.k8s.io/v1", "web")
		w.mu.Unlock()
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		objs, err = metadata.Lister().List(nil)
		require.NoError(t, err)
		require.Len(t, objs, 1)
		require.IsType(t, &metav1.PartialObjectMetadata{}, objs[0])

		// What InformerFor asks first. It is called here itself, because the compiler makes a whole informer of each type that it is called for.
		_, _, err = resourceOf[*unstructured.Unstructured](f)
		require.ErrorContains(t, err, "ForResource")
		_, _, err = resourceOf[listwatch.Object](f)
		require.Error(t, err)
		type Stranger struct{ corev1.Service }
		_, _, err = resourceOf[*Stranger](f)
		require.Error(t, err)
	})
}

func TestFactory_SaysWhatDidNotSyncAndWhy(t *testing.T) {
	onTheWire(t, Options{}, func(t *testing.T, f *Factory, w *wire) {
		delete(w.lists, "/api/v1/nodes")
		_, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		_, err = InformerFor[*corev1.Node](f)
		require.NoError(t, err)
		f.Start(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = f.WaitForSync(ctx)
		require.ErrorContains(t, err, "nodes.v1")
		require.ErrorContains(t, err, "not for you")
		require.NotContains(t, err.Error(), "services")
		require.True(t, apierrors.IsForbidden(err))
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestFactory_StopsOneInformerAndForgetsIt(t *testing.T) {
	onTheWire(t, Options{}, func(t *testing.T, f *Factory, w *wire) {
		services, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		nodes, err := InformerFor[*corev1.Node](f)
		require.NoError(t, err)
		reg, err := services.AddHandler(sharedinformer.HandlerFuncs[*corev1.Service]{}, sharedinformer.HandlerOptions{})
		require.NoError(t, err)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		require.Len(t, f.Stats(), 2)

		require.NoError(t, f.Stop(servicesGVR))
		require.True(t, isClosed(services.Done()))
		require.True(t, isClosed(reg.Done()))
		require.False(t, isClosed(nodes.Done()))
		require.Len(t, f.Stats(), 1)
		require.ErrorIs(t, f.Stop(servicesGVR), ErrNoInformer)
		require.ErrorIs(t, StopFor[*corev1.Service](f), ErrNoInformer)

		gone := weak.Make(services)
		services = nil
		apiservertest.Eventually(t, "its memory", func() error {
			runtime.GC()
			if gone.Value() != nil {
				return errors.New("is held")
			}
			return nil
		})
		require.NotNil(t, reg, "even though its registration is still around")

		services, err = InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		require.Equal(t, 2, services.Store().Len())
		require.NoError(t, StopFor[*corev1.Service](f))
		require.True(t, isClosed(services.Done()))

		f.Shutdown()
		require.True(t, isClosed(nodes.Done()))
		_, err = InformerFor[*corev1.Service](f)
		require.ErrorContains(t, err, "shut down")
		f.Start(t.Context())
		f.Shutdown()
	})
}

func TestFactory_StopOfWhatNeverRanStopsItForGood(t *testing.T) {
	for name, stop := range map[string]func(*Factory) error{
		"Stop":     func(f *Factory) error { return f.Stop(servicesGVR) },
		"Shutdown": func(f *Factory) error { f.Shutdown(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			onTheWire(t, Options{}, func(t *testing.T, f *Factory, _ *wire) {
				informer, err := InformerFor[*corev1.Service](f)
				require.NoError(t, err)
				require.NoError(t, stop(f))
				require.ErrorIs(t, informer.WaitForSync(context.Background()), sharedinformer.ErrStopped)
				_, err = informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.Service]{}, sharedinformer.HandlerOptions{})
				require.ErrorIs(t, err, sharedinformer.ErrStopped)
			})
		})
	}
}
