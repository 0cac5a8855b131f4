package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	cachetesting "k8s.io/client-go/tools/cache/testing"
)

// listOf drops the type of a client's List.
func listOf[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) ListWithContextFunc {
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		out, err := list(ctx, opts)
		if err != nil {
			return nil, err
		}
		return out, nil
	}
}

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// onTrackers are what unit tests do with the objects of fakes.
var onTrackers = stories{
	"through the client": func(t *testing.T, c *transcript) {
		clientset := fake.NewClientset()
		informer := c.informer(t, c.fakeConfigMaps(clientset))
		defer running(informer.RunWithContext)()
		client := clientset.CoreV1().ConfigMaps("default")
		did := func(err error) {
			t.Helper()
			c.write("%v", err)
			synctest.Wait()
		}
		create := func(obj *corev1.ConfigMap) {
			_, err := client.Create(t.Context(), obj, metav1.CreateOptions{})
			did(err)
		}
		create(configMap("a", ""))
		create(configMap("a", ""))
		create(configMap("b", "900"))
		_, err := client.Update(t.Context(), configMap("a", "2"), metav1.UpdateOptions{})
		did(err)
		_, err = client.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data":{"k":"v"}}`), metav1.PatchOptions{})
		did(err)
		did(client.Delete(t.Context(), "a", metav1.DeleteOptions{}))
		create(configMap("a", "1"))
		generated := configMap("", "")
		generated.GenerateName = "generated-"
		create(generated)
		create(generated)
		did(client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		c.write("%d", len(informer.GetStore().ListKeys()))
	},
	"past the client": func(t *testing.T, c *transcript) {
		clientset := fake.NewClientset()
		informer := c.informer(t, c.fakeConfigMaps(clientset))
		defer running(informer.RunWithContext)()
		tracker := clientset.Tracker()
		for _, do := range []func() error{
			func() error { return tracker.Add(configMap("a", "900")) },
			func() error { return tracker.Add(configMap("a", "5")) },
			func() error { return tracker.Update(configMaps, configMap("a", ""), "default") },
			func() error { return tracker.Delete(configMaps, "default", "a") },
			func() error { return tracker.Delete(configMaps, "default", "a") },
			func() error { return tracker.Create(configMaps, configMap("a", "1"), "default") },
		} {
			c.write("%v", do())
			synctest.Wait()
		}
		c.write("%q %v", informer.LastSyncResourceVersion(), informer.GetStore().ListKeys())
	},
	"of the dynamic client": func(t *testing.T, c *transcript) {
		things := schema.GroupVersionResource{Group: "g", Version: "v1", Resource: "things"}
		thing := func(name, version string) *unstructured.Unstructured {
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "g/v1", "kind": "Thing"}}
			u.SetNamespace("default")
			u.SetName(name)
			u.SetResourceVersion(version)
			return u
		}
		kinds := map[schema.GroupVersionResource]string{things: "ThingList"}
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, thing("a", "33"))
		resource := client.Resource(things).Namespace("default")
		lw := c.noted(&ListWatch{ListWithContextFunc: listOf(resource.List), WatchFuncWithContext: resource.Watch})
		informer := c.shared(ToListWatcherWithWatchListSemantics(lw, client), thing("", ""), plain())
		_, err := informer.AddEventHandler(&c.events)
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		did := func(_ any, err error) {
			t.Helper()
			require.NoError(t, err)
			synctest.Wait()
		}
		did(resource.Create(t.Context(), thing("b", ""), metav1.CreateOptions{}))
		did(resource.Update(t.Context(), thing("b", "2"), metav1.UpdateOptions{}))
		did(nil, resource.Delete(t.Context(), "a", metav1.DeleteOptions{}))
		did(resource.Create(t.Context(), thing("a", "1"), metav1.CreateOptions{}))
		c.write("%q %v", informer.LastSyncResourceVersion(), sorted(informer.GetStore().ListKeys()))
	},
	"a controller source": func(t *testing.T, c *transcript) {
		source := cachetesting.NewFakeControllerSource()
		defer source.Shutdown()
		source.Add(configMap("a", ""))
		source.Add(configMap("b", ""))
		source.Modify(configMap("b", ""))
		informer := c.informer(t, c.noted(&ListWatch{ListFunc: source.List, WatchFunc: source.Watch}))
		defer running(informer.RunWithContext)()
		source.Modify(configMap("a", ""))
		synctest.Wait()
		source.Delete(configMap("b", ""))
		synctest.Wait()
		source.AddDropWatch(configMap("c", ""))
		pass(time.Minute)
		source.ModifyDropWatch(configMap("c", ""))
		source.DeleteDropWatch(configMap("a", ""))
		pass(time.Minute)
		source.ResetWatch()
		pass(time.Minute)
		source.Add(configMap("d", ""))
		pass(time.Minute)
		c.state(informer)
	},
	"a source of persistent volumes": func(t *testing.T, c *transcript) {
		source := cachetesting.NewFakePVControllerSource()
		defer source.Shutdown()
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
		source.Add(volume.DeepCopy())
		informer := c.shared(source, volume, plain())
		_, err := informer.AddEventHandler(&c.events)
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		source.Modify(volume.DeepCopy())
		source.Delete(volume.DeepCopy())
		synctest.Wait()
		c.state(informer)
	},
}

func TestTrackers_TellWhatTheyTellClientGo(t *testing.T) { onTrackers.compare(t) }

// Some fakes give an object an older version than the one before, or none. client-go takes that over as its own.
func TestTrackers_VersionsOfAnInformerAfterOldOnesAndNone(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, _ *village) {
		list, w := configMapList("1", configMap("x", "1")), watch.NewRaceFreeFake()
		informer := m.shared(answering(list, w), &corev1.ConfigMap{}, plain())
		defer running(informer.RunWithContext)()
		reads := func(reached, stored map[string]string) {
			t.Helper()
			require.Equal(t, reached[m.name], informer.LastSyncResourceVersion())
			require.Equal(t, stored[m.name], informer.GetStore().LastStoreSyncResourceVersion())
		}
		expect := func(version string, reached, stored map[string]string) {
			t.Helper()
			w.Add(configMap("a", version))
			synctest.Wait()
			reads(reached, stored)
		}
		both := func(version string) map[string]string {
			return map[string]string{theirMachinery.name: version, ourMachinery.name: version}
		}
		theirsElse := func(theirs, ours string) map[string]string {
			return map[string]string{theirMachinery.name: theirs, ourMachinery.name: ours}
		}
		expect("9", both("9"), both("9"))
		expect("5", both("5"), theirsElse("5", "9"))
		expect("", theirsElse("", "5"), theirsElse("", "9"))
		expect("12", both("12"), both("12"))
		list.ResourceVersion = ""
		w.Error(&apierrors.NewResourceExpired("").ErrStatus)
		pass(10 * time.Second)
		require.Len(t, informer.GetStore().ListKeys(), 1, "the list has come")
		reads(both(""), theirsElse("", "12"))
	})
}
