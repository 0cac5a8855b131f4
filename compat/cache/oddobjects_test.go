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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// answering gives every list and every watch the same answer.
func answering(list runtime.Object, w watch.Interface) ListerWatcher {
	return paged(&ListWatch{
		ListFunc:  func(metav1.ListOptions) (runtime.Object, error) { return list, nil },
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return w, nil },
	})
}

func configMapList(version string, items ...*corev1.ConfigMap) *corev1.ConfigMapList {
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, item := range items {
		list.Items = append(list.Items, *item)
	}
	return list
}

// withOddVersions are lists whose versions no server would give, and then the same events.
func withOddVersions() stories {
	table := stories{}
	for name, list := range map[string]*corev1.ConfigMapList{
		"letters":   configMapList("abc", configMap("a", "x1")),
		"zero":      configMapList("0", configMap("a", "0")),
		"huge":      configMapList("99999999999999999999999999", configMap("a", "1")),
		"below one": configMapList("7", configMap("a", "-7")),
	} {
		table[name] = func(t *testing.T, c *transcript) {
			w := watch.NewFakeWithChanSize(10, false)
			informer := c.informer(t, answering(list, w))
			defer running(informer.RunWithContext)()
			w.Add(configMap("q", "zz"))
			w.Modify(configMap("a", "3"))
			w.Action(watch.Bookmark, configMap("", "b"))
			synctest.Wait()
			c.write("%q %v", informer.LastSyncResourceVersion(), sorted(informer.GetStore().ListKeys()))
		}
	}
	return table
}

func TestOddObjects_VersionsAreTakenOverAsInClientGo(t *testing.T) { withOddVersions().compare(t) }

// What was deleted and made again while nobody looked is an update.
func TestOddObjects_AnotherUIDIsAnUpdateAsInClientGo(t *testing.T) {
	stories{"uids": func(t *testing.T, c *transcript) {
		made := func(uid types.UID, version string) *corev1.ConfigMap {
			obj := configMap("a", version)
			obj.UID = uid
			return obj
		}
		w, lists := watch.NewFake(), 0
		informer := c.shared(paged(&ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
				lists++
				return configMapList("10", made(types.UID(rune('a'+lists)), "10")), nil
			},
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) {
				if lists > 1 {
					return watch.NewFake(), nil
				}
				return w, nil
			},
		}), &corev1.ConfigMap{}, plain())
		uid := func(obj any) types.UID { return obj.(*corev1.ConfigMap).UID }
		_, err := informer.AddEventHandler(ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { c.events.write("add %s", uid(obj)) },
			UpdateFunc: func(oldObj, obj any) { c.events.write("update %s to %s", uid(oldObj), uid(obj)) },
			DeleteFunc: func(obj any) { c.events.write("delete %s", uid(obj)) },
		})
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		w.Modify(made("x", "11"))
		w.Add(made("y", "12"))
		w.Add(made("y", "12"))
		w.Delete(made("other", "13"))
		w.Modify(made("m", "13"))
		w.Error(&apierrors.NewResourceExpired("").ErrStatus)
		pass(time.Minute)
	}}.compare(t)
}

// No server lists an object twice.
func TestOddObjects_AnObjectThatAListHasTwiceIsAddedOnce(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, _ *village) {
		expect := func(m machinery, want ...string) {
			t.Helper()
			list, told := configMapList("9", configMap("a", "1"), configMap("a", "2")), &diary{}
			informer := m.shared(answering(list, watch.NewFake()), &corev1.ConfigMap{}, plain())
			_, err := informer.AddEventHandler(told)
			require.NoError(t, err)
			defer running(informer.RunWithContext)()
			told.Expect(t, want...)
			obj, _, err := informer.GetStore().GetByKey("default/a")
			require.NoError(t, err)
			require.Equal(t, "a@2", brief(obj))
		}
		if m.name == theirMachinery.name {
			expect(m, "initial a@1", "initial a@2")
			expect(m.asSimple(), "initial a@1", "initial a@2")
		} else {
			expect(m, "initial a@1", "update a@1→2")
			expect(m.asSimple(), "initial a@2")
		}
	})
}

func TestOddObjects_ATransformThatRenamesLeavesTheKey(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		informer, told := m.shared(s, &corev1.ConfigMap{}, plain()), &diary{}
		_, err := informer.AddEventHandler(told)
		require.NoError(t, err)
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			renamed := obj.(*corev1.ConfigMap).DeepCopy()
			renamed.Name = "my-" + renamed.Name
			return renamed, nil
		}))
		defer running(informer.RunWithContext)()
		keys := map[string][]string{theirMachinery.name: {"default/my-a"}, ourMachinery.name: {"default/a"}}[m.name]
		require.Equal(t, keys, informer.GetStore().ListKeys())
		s.Delete("a")
		told.Expect(t, "initial my-a@1", "delete my-a@2")
		require.Empty(t, informer.GetStore().ListKeys())
	})
}

// client-go panics.
func TestOddObjects_AWatchFunctionThatReturnsNothingIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, errs := NewSharedIndexInformer(answering(configMapList("9"), nil), &corev1.ConfigMap{}, 0, nil), &diary{}
		require.NoError(t, informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *Reflector, err error) {
			errs.write("%v", err)
		}))
		defer running(informer.RunWithContext)()
		errs.Expect(t, "the watch function returned neither a watch nor an error")
		require.True(t, informer.HasSynced())
	})
}
