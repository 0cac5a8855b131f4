package pitfalls

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// A DeleteFunc asserts that it gets the type of the informer.
//
// Why: the object may be deleted while the watch is broken. Then the next list finds it gone, and its last state is
// unknown. So the handler gets a cache.DeletedFinalStateUnknown. The program works for months, and then it ends with a
// panic.
//
// You see: panic: interface conversion: interface {} is cache.DeletedFinalStateUnknown, not *v1.ConfigMap
//
// Instead: unwrap the tombstone first. Its Obj is the last known state, and may be nil. (Our handlers get a
// Deletion[T], and the tombstone is one of its fields.)
func TestPitfall_AssertingTheTypeOfATombstone(t *testing.T) {
	naive := func(deleted func(name string)) func(obj any) {
		return func(obj any) {
			deleted(obj.(*corev1.ConfigMap).Name)
		}
	}
	right := func(deleted func(name string)) func(obj any) {
		return func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			if cm, ok := obj.(*corev1.ConfigMap); ok {
				deleted(cm.Name)
			}
		}
	}
	property := func(t *testing.T, handler func(func(string)) func(any)) error {
		var deleted notes
		crashed := missedDeletion(t, handler(func(name string) { deleted.add("%s", name) }))
		if len(crashed) > 0 {
			return fmt.Errorf("panic: %s", crashed[0])
		}
		return unlike("deletions", []string{"web"}, deleted.all())
	}
	contrast(t, property, naive, right)
}

// A DeleteFunc makes its key with MetaNamespaceKeyFunc.
//
// Why: a tombstone is not an object, so the function returns an error instead of a key. A handler that logs the error
// and goes on has lost the deletion.
//
// You see: keys of missed deletions: want [default/web], got []
//
// Instead: use DeletionHandlingMetaNamespaceKeyFunc or DeletionHandlingObjectToName, which accept tombstones.
func TestPitfall_MakingAKeyOfATombstone(t *testing.T) {
	naive := func(q workqueue.TypedInterface[string]) func(obj any) {
		return func(obj any) {
			if key, err := cache.MetaNamespaceKeyFunc(obj); err == nil {
				q.Add(key)
			}
		}
	}
	right := func(q workqueue.TypedInterface[string]) func(obj any) {
		return func(obj any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				q.Add(key)
			}
		}
	}
	property := func(t *testing.T, handler func(workqueue.TypedInterface[string]) func(any)) error {
		q := workqueue.NewTyped[string]()
		missedDeletion(t, handler(q))
		return unlike("keys of missed deletions", []string{"default/web"}, drained(q))
	}
	contrast(t, property, naive, right)
}

// missedDeletion has a handler's DeleteFunc told of a deletion that its informer missed. It returns the panics.
func missedDeletion(t *testing.T, deleteFunc func(obj any)) []string {
	c, crashed := startCluster(t), crashes(t)
	c.Put("web", "1")
	informer := c.informer(0)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: deleteFunc})
	require.NoError(t, err)
	c.run(informer)
	c.Miss(func() { c.Delete("web") })
	return crashed()
}

// drained returns what a queue has, and shuts it down.
func drained(q workqueue.TypedInterface[string]) []string {
	q.ShutDown()
	items := []string{}
	for item, shutdown := q.Get(); !shutdown; item, shutdown = q.Get() {
		items = append(items, item)
		q.Done(item)
	}
	return items
}

// An UpdateFunc drops updates whose old and new object are equal by DeepEqual.
//
// Why: two versions of an object are never equal, for their resourceVersions differ. So every heartbeat and every label
// gets through. Old and new are equal only in a resync, and that is all that the comparison drops. But a program asks
// for resyncs because they repair what was changed outside the cluster.
//
// You see: enqueued: want [data, resync], got [label, data]
//
// Instead: let resyncs through (their resourceVersions are equal), and compare the fields that the reconciler reads. If
// you want no resyncs, set their period to 0.
func TestPitfall_DeepEqualOnResync(t *testing.T) {
	naive := func(old, obj *corev1.ConfigMap) (enqueue bool) {
		return !reflect.DeepEqual(old, obj)
	}
	right := func(old, obj *corev1.ConfigMap) (enqueue bool) {
		isResync := old.ResourceVersion == obj.ResourceVersion
		return isResync || !equality.Semantic.DeepEqual(old.Data, obj.Data)
	}
	property := func(t *testing.T, matters func(old, obj *corev1.ConfigMap) bool) error {
		c := startCluster(t)
		web := c.Put("web", "1")
		informer := c.informer(time.Minute)
		var enqueued notes
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(was, is any) {
			old, obj := was.(*corev1.ConfigMap), is.(*corev1.ConfigMap)
			if !matters(old, obj) {
				return
			}
			switch {
			case old == obj:
				enqueued.add("resync")
			case old.Data["v"] != obj.Data["v"]:
				enqueued.add("data")
			default:
				enqueued.add("label")
			}
		}})
		require.NoError(t, err)
		c.run(informer)

		web.Labels = map[string]string{"seen": "yes"}
		web, err = c.Client.CoreV1().ConfigMaps("default").Update(t.Context(), web, metav1.UpdateOptions{})
		require.NoError(t, err)
		web.Data = map[string]string{"v": "2"}
		_, err = c.Client.CoreV1().ConfigMaps("default").Update(t.Context(), web, metav1.UpdateOptions{})
		require.NoError(t, err)
		apiservertest.Pass(90 * time.Second)
		return unlike("enqueued", []string{"data", "resync"}, enqueued.all())
	}
	contrast(t, property, naive, right)
}

// A handler does the work itself.
//
// Why: a handler is called with one change at a time. All later changes wait in memory, without a bound, each with its
// own version of the object. Nothing is merged, nothing is retried, and there is one worker.
//
// You see: a minute after the last of 100 changes of one object, the work is at version 61
//
// Instead: the handler queues a key and returns. Many changes of one object become one item, and the worker reads the
// newest version.
func TestPitfall_BlockingInAHandler(t *testing.T) {
	type object = *corev1.ConfigMap
	naive := func(_ workqueue.TypedInterface[string], _ cache.Store, work func(object)) func(obj object) {
		return func(obj object) {
			work(obj)
		}
	}
	right := func(q workqueue.TypedInterface[string], store cache.Store, work func(object)) func(obj object) {
		go func() {
			for key, shutdown := q.Get(); !shutdown; key, shutdown = q.Get() {
				if obj, exists, err := store.GetByKey(key); err == nil && exists {
					work(obj.(object))
				}
				q.Done(key)
			}
		}()
		return func(obj object) {
			q.Add(obj.Namespace + "/" + obj.Name)
		}
	}
	property := func(t *testing.T, handler func(workqueue.TypedInterface[string], cache.Store, func(object)) func(object)) error {
		c, q := startCluster(t), workqueue.NewTyped[string]()
		t.Cleanup(q.ShutDown)
		informer := c.informer(0)
		var at notes
		handle := handler(q, informer.GetStore(), func(obj object) {
			at.add("%s", obj.Data["v"])
			<-time.After(time.Second) // a request, say
		})
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { handle(obj.(object)) },
			UpdateFunc: func(_, obj any) { handle(obj.(object)) },
		})
		require.NoError(t, err)
		c.run(informer)
		began := time.Now()
		for i := range 100 {
			c.Put("web", fmt.Sprint(i+1))
		}
		apiservertest.Pass(time.Minute + 500*time.Millisecond - time.Since(began))
		all := at.all()
		if last := all[len(all)-1]; last != "100" {
			return fmt.Errorf("a minute after the last of 100 changes of one object, the work is at version %s", last)
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A handler asserts a type that its informer does not have, and ignores objects of other types.
//
// Why: handlers get an any. A dynamic informer hands out *unstructured.Unstructured, and a metadata informer
// *metav1.PartialObjectMetadata. Neither is a *corev1.ConfigMap. With the two-value assertion the handler ignores every
// object, and reports nothing.
//
// You see: objects seen: want [api, web], got []
//
// Instead: assert the type that the informer has (or the interface, with meta.Accessor), and report any other type as a
// bug. (Our informers are typed, so the compiler finds this.)
func TestPitfall_AssertingAnotherType(t *testing.T) {
	naive := func(obj any, seen func(name string)) {
		if cm, ok := obj.(*corev1.ConfigMap); ok {
			seen(cm.Name)
		}
	}
	right := func(obj any, seen func(name string)) {
		accessor, err := meta.Accessor(obj)
		if err != nil {
			panic(fmt.Sprintf("a handler of objects got a %T", obj))
		}
		seen(accessor.GetName())
	}
	property := func(t *testing.T, handle func(obj any, seen func(string))) error {
		c := startCluster(t)
		c.Put("api", "1")
		c.Put("web", "1")
		client, err := dynamic.NewForConfig(c.Config)
		require.NoError(t, err)
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, "default", nil)
		informer := factory.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps")).Informer()
		var seen notes
		_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			handle(obj, func(name string) { seen.add("%s", name) })
		}})
		require.NoError(t, err)
		c.run(informer)
		names := seen.all()
		slices.Sort(names)
		return unlike("objects seen", []string{"api", "web"}, names)
	}
	contrast(t, property, naive, right)
}

// A handler waits for its own end.
//
// Why: the handler is at its end when it has returned from its last call. A call that waits for that waits for itself.
//
// You see: an hour later the handler still waits for its own end
//
// Instead: remove the handler and return. Whoever needs to know that the last call is over waits from another goroutine.
func TestPitfall_WaitingForItsOwnEnd(t *testing.T) {
	type informer = *sharedinformer.Informer[*corev1.ConfigMap]
	naive := func(ctx context.Context, i informer, own *sharedinformer.Registration) error {
		err := i.RemoveHandler(own)
		select {
		case <-own.Done():
		case <-ctx.Done():
		}
		return err
	}
	right := func(_ context.Context, i informer, own *sharedinformer.Registration) error {
		return i.RemoveHandler(own)
	}
	property := func(t *testing.T, leave func(context.Context, informer, *sharedinformer.Registration) error) error {
		c := startCluster(t)
		c.Put("web", "1")
		gvr := corev1.SchemeGroupVersion.WithResource("configmaps")
		lw, err := listwatch.NewForConfig[*corev1.ConfigMap](c.Config, gvr, listwatch.Options{})
		require.NoError(t, err)
		i := sharedinformer.New(lw, sharedinformer.Options[*corev1.ConfigMap]{})
		ctx, giveUp := context.WithCancel(context.Background())
		var own *sharedinformer.Registration
		own, err = i.AddHandler(sharedinformer.HandlerFuncs[*corev1.ConfigMap]{
			AddFunc: func(*corev1.ConfigMap, bool) { _ = leave(ctx, i, own) },
		}, sharedinformer.HandlerOptions{})
		require.NoError(t, err)
		start(t, func(ctx context.Context) { _ = i.Run(ctx) })
		t.Cleanup(giveUp) // before the informer's end, which waits for the handler
		apiservertest.Pass(time.Hour)
		select {
		case <-own.Done():
			return nil
		default:
			return errors.New("an hour later the handler still waits for its own end")
		}
	}
	contrast(t, property, naive, right)
}
