package pitfalls

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/apiserver/apiservertest"
)

var everything = labels.Everything()

// An object from a lister is changed and then sent to the server.
//
// Why: the lister hands out the cache's own pointer, the same one to every caller. If the update fails, the cache has a
// state that the server never had. The next reconcile sees nothing to do, and the change is never made. (It is also a
// data race with every other reader.)
//
// You see: the update failed, the server has v=1, and the cache says v=2
//
// Instead: change a DeepCopy.
func TestPitfall_MutatingACachedObject(t *testing.T) {
	naive := func(ctx context.Context, lister corelisters.ConfigMapNamespaceLister, client typedcorev1.ConfigMapInterface) error {
		web, err := lister.Get("web")
		if err != nil {
			return err
		}
		web.Data["v"] = "2"
		_, err = client.Update(ctx, web, metav1.UpdateOptions{})
		return err
	}
	right := func(ctx context.Context, lister corelisters.ConfigMapNamespaceLister, client typedcorev1.ConfigMapInterface) error {
		web, err := lister.Get("web")
		if err != nil {
			return err
		}
		web = web.DeepCopy()
		web.Data["v"] = "2"
		_, err = client.Update(ctx, web, metav1.UpdateOptions{})
		return err
	}
	property := func(t *testing.T, reconcile func(context.Context, corelisters.ConfigMapNamespaceLister, typedcorev1.ConfigMapInterface) error) error {
		c := startCluster(t)
		c.Put("web", "1")
		informer := c.informer(0)
		c.run(informer)
		lister := corelisters.NewConfigMapLister(informer.GetIndexer()).ConfigMaps("default")

		c.Faults().FailNext(1, unavailable("update"))
		require.Error(t, reconcile(t.Context(), lister, c.Client.CoreV1().ConfigMaps("default")))
		cached, err := lister.Get("web")
		require.NoError(t, err)
		stored, err := c.Client.CoreV1().ConfigMaps("default").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		if cached.Data["v"] != stored.Data["v"] {
			return fmt.Errorf("the update failed, the server has v=%s, and the cache says v=%s", stored.Data["v"], cached.Data["v"])
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A reconciler creates an object, and the next reconcile asks the cache whether it exists.
//
// Why: the cache learns of a write by the watch, some time after the response. A reconcile in between sees the old
// state and creates a second object, with another generated name.
//
// You see: two looks in quick succession made 2 objects
//
// Instead: make the name from the owner's name, so that the server refuses the second object. Where that is impossible,
// remember what was written until the cache has it. (Our informers can wait for it: Informer.WaitForResourceVersion.)
func TestPitfall_ReadingOnesOwnWriteFromTheCache(t *testing.T) {
	naive := func(ctx context.Context, lister corelisters.ConfigMapNamespaceLister, client typedcorev1.ConfigMapInterface) error {
		if mine, err := lister.List(everything); err != nil || len(mine) > 0 {
			return err
		}
		_, err := client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"}}, metav1.CreateOptions{})
		return err
	}
	right := func(ctx context.Context, lister corelisters.ConfigMapNamespaceLister, client typedcorev1.ConfigMapInterface) error {
		if mine, err := lister.List(everything); err != nil || len(mine) > 0 {
			return err
		}
		_, err := client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web-config"}}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	property := func(t *testing.T, reconcile func(context.Context, corelisters.ConfigMapNamespaceLister, typedcorev1.ConfigMapInterface) error) error {
		c := startCluster(t)
		informer := c.informer(0)
		c.run(informer)
		lister := corelisters.NewConfigMapLister(informer.GetIndexer()).ConfigMaps("default")
		synctest.Wait()
		c.Faults().FailNext(1, unavailable("watch")) // so the cache is behind in both reconciles for certain
		require.NotZero(t, c.Faults().DropWatches())
		synctest.Wait()
		for range 2 {
			if err := reconcile(t.Context(), lister, c.Client.CoreV1().ConfigMaps("default")); err != nil {
				return err
			}
		}
		if n := len(c.Names()); n != 1 {
			return fmt.Errorf("two looks in quick succession made %d objects", n)
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A controller drops the events of its own status, and writes a status only if it differs from the cached one.
//
// Why: after a write the cache is behind for a moment. A pass in that moment compares with an older status. If that one
// happens to be right, nothing is written, and the wrong one stays on the server. The event that shows it is dropped.
// controller-runtime's GenerationChangedPredicate drops it.
//
// You see: the phase when all is ready: want [Running], got [Creating]
//
// Instead: let the event of your own status wake you, as cmd/cloudmanager does. The pass that follows writes nothing if all
// is right. To wait for the cache after each write of the status is not enough: the answer may be lost, and the write may
// be that of a former leader.
func TestPitfall_DroppingTheEventsOfItsOwnStatus(t *testing.T) {
	naive := func(old, now *corev1.ConfigMap) (wakes bool) {
		return old.Data["v"] != now.Data["v"] // the spec, or metadata.generation
	}
	right := func(old, now *corev1.ConfigMap) (wakes bool) {
		return old.ResourceVersion != now.ResourceVersion
	}
	property := func(t *testing.T, wakes func(old, now *corev1.ConfigMap) bool) error {
		c := startCluster(t)
		require.NoError(t, setPhase(t.Context(), c.Client, c.Put("web", "1"), "Running"))
		informer := c.informer(0)
		lister := corelisters.NewConfigMapLister(informer.GetIndexer()).ConfigMaps("default")
		reconcile := func(phase string) error {
			web, err := lister.Get("web")
			if err != nil {
				return err
			}
			return setPhase(t.Context(), c.Client, web.DeepCopy(), phase)
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, now any) {
			if wakes(old.(*corev1.ConfigMap), now.(*corev1.ConfigMap)) {
				assert.NoError(t, reconcile("Running"))
			}
		}})
		require.NoError(t, err)
		c.run(informer)
		synctest.Wait()
		c.Faults().FailNext(1, unavailable("watch")) // so the cache is behind in both reconciles for certain
		require.NotZero(t, c.Faults().DropWatches())
		synctest.Wait()
		require.NoError(t, reconcile("Creating"))
		require.NoError(t, reconcile("Running")) // all is ready again, and so says the cache
		apiservertest.Pass(time.Minute)
		web, err := c.Get(t.Context(), "web")
		require.NoError(t, err)
		return unlike("the phase when all is ready", []string{"Running"}, []string{web.Data["phase"]})
	}
	contrast(t, property, naive, right)
}
