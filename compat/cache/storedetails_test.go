package cache

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func podOf(namespace, name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: version}}
}

func inZones(pod *corev1.Pod, zones string) *corev1.Pod {
	pod.Annotations = map[string]string{"zones": zones}
	return pod
}

// failed describes an error as a program can: by its text, and whether it is a KeyError.
func failed(err error) string {
	var key KeyError
	return fmt.Sprintf("%v, key error %v", err, errors.As(err, &key))
}

// storeDetails are what tests of lister and store users compare.
var storeDetails = stories{
	"objects without a key": func(_ *testing.T, c *transcript) {
		store := c.storage.indexer(MetaNamespaceKeyFunc, Indexers{}, nil)
		for _, obj := range []any{"x", nil, 5, struct{}{}, DeletedFinalStateUnknown{Key: "a/b"}} {
			_, exists, err := store.Get(obj)
			c.write("%v: %s, %s, %s, %v %s", obj, failed(store.Add(obj)), failed(store.Update(obj)), failed(store.Delete(obj)),
				exists, failed(err))
		}
		c.write("%s", failed(store.Add(ExplicitKey("x/y/z"))))
		c.write("%s", failed(store.Replace([]any{podOf("", "a", ""), "x"}, "4")))
		c.write("%v %q", store.ListKeys(), store.LastStoreSyncResourceVersion())
		for _, key := range []string{"", "x/y/z", "/"} {
			obj, exists, err := store.GetByKey(key)
			c.write("%v %v %v", obj, exists, err)
		}
		c.write("%v", errors.Is(c.storage.indexer(keyOfPod, nil, nil).Add("x"), errKeyless))
		c.try("a nil pod", func() any { return store.Add((*corev1.Pod)(nil)) })
	},
	"nothing": func(_ *testing.T, c *transcript) {
		store := c.storage.indexer(MetaNamespaceKeyFunc, nil, nil)
		c.write("%v %v", store.Replace(nil, ""), store.Resync())
		c.write("%#v %#v %v %q", store.List(), store.ListKeys(), store.GetIndexers(), store.LastStoreSyncResourceVersion())
		_, byIndex := store.ByIndex("x", "y")
		_, index := store.Index("x", nil)
		keys, indexKeys := store.IndexKeys("x", "y")
		c.write("%v, %v, %#v %v, %#v", byIndex, index, keys, indexKeys, store.ListIndexFuncValues("x"))
		safe := c.storage.threadSafe(nil)
		safe.Add("key", 5)
		c.write("%v %v", safe.List(), safe.Resync())
		safe.Replace(nil, "7")
		c.write("%#v %#v", safe.List(), safe.ListIndexFuncValues("x"))
	},
	"a list with an object twice": func(_ *testing.T, c *transcript) {
		store := c.storage.indexer(MetaNamespaceKeyFunc, Indexers{"zones": byZones}, nil)
		second := inZones(podOf("", "a", "2"), "2")
		c.write("%v", store.Replace([]any{inZones(podOf("", "a", "1"), "1"), second}, "4"))
		look := func() {
			for _, zone := range []string{"1", "2"} {
				pods, err := store.ByIndex("zones", zone)
				keys, keysErr := store.IndexKeys("zones", zone)
				c.write("%s: %v %v, %#v %v", zone, printed(pods), err, keys, keysErr)
			}
			values, version := sorted(store.ListIndexFuncValues("zones")), store.LastStoreSyncResourceVersion()
			c.write("%v %#v %q", printed(store.List()), values, version)
		}
		look()
		c.write("%v", store.Delete(second))
		look()
		c.write("%#v %#v", store.List(), store.ListKeys())
	},
	"odd values of an index": func(_ *testing.T, c *transcript) {
		values := func(values ...string) IndexFunc { return func(any) ([]string, error) { return values, nil } }
		indexers := Indexers{"twice": values("a", "a"), "empty": values(""), "none": values(), "many": values("b", "", "a")}
		store := c.storage.indexer(MetaNamespaceKeyFunc, indexers, nil)
		c.write("%v %v", store.Add(podOf("", "a", "1")), store.Add(podOf("", "a", "2")))
		for _, name := range sorted(store.ListIndexFuncValues("many")) {
			c.write("%q", name)
		}
		for _, name := range []string{"twice", "empty", "none", "many"} {
			for _, value := range []string{"a", ""} {
				pods, err := store.ByIndex(name, value)
				c.write("%s %q: %v %v", name, value, printed(pods), err)
			}
			pods, err := store.Index(name, podOf("", "b", ""))
			c.write("%q, index %v %v", sorted(store.ListIndexFuncValues(name)), printed(pods), err)
		}
	},
	"indices that come later": func(_ *testing.T, c *transcript) {
		store := c.storage.indexer(MetaNamespaceKeyFunc, Indexers{"a": byApp}, nil)
		c.write("%v", store.Add(podOf("", "a", "1")))
		c.write("%v", store.AddIndexers(Indexers{"b": byApp, "a": byApp}))
		c.write("%v %v", store.AddIndexers(Indexers{"b": byApp}), store.AddIndexers(nil))
		keys, err := store.IndexKeys("b", "")
		c.write("%d %v %v", len(store.GetIndexers()), keys, err)
	},
	"a transform": func(_ *testing.T, c *transcript) {
		store := c.storage.indexer(MetaNamespaceKeyFunc, Indexers{}, func(obj any) (any, error) {
			switch obj.(*corev1.Pod).Name {
			case "bad":
				return nil, errKeyless
			case "nil":
				return nil, nil
			}
			return obj, nil
		})
		c.write("%v", errors.Is(store.Add(podOf("", "bad", "")), errKeyless))
		c.write("%v", store.Add(podOf("", "nil", "")))
		obj, exists, err := store.GetByKey("nil")
		c.write("%v %v %v", obj, exists, err)
		c.write("%v %v", store.Replace([]any{podOf("", "bad", "")}, "") != nil, store.ListKeys())
		c.write("%v", store.Delete(podOf("", "bad", "")))
	},
	"listers": func(_ *testing.T, c *transcript) {
		store := c.storage.indexer(MetaNamespaceKeyFunc, Indexers{}, nil)
		c.write("%v %v", store.Add(podOf("a", "x", "1")), store.Add(podOf("", "y", "1")))
		lister := c.storage.lister(store)
		for _, get := range []func() (any, error){
			func() (any, error) { return lister.Get("none") },
			func() (any, error) { return lister.ByNamespace("a").Get("none") },
			func() (any, error) { return lister.ByNamespace("").Get("y") },
			func() (any, error) { return lister.Get("a/x") },
		} {
			obj, err := get()
			c.write("%v %v", printedOne(obj), err)
		}
		for _, list := range []func() (any, error){
			func() (any, error) { l, err := lister.ByNamespace("a").List(labels.Everything()); return len(l), err },
			func() (any, error) { return lister.List(labels.Nothing()) },
			func() (any, error) {
				return c.storage.lister(c.storage.indexer(MetaNamespaceKeyFunc, nil, nil)).List(labels.Everything())
			},
		} {
			objs, err := list()
			c.write("%#v %v", objs, err)
		}
	},
	"a mutation cache": func(_ *testing.T, c *transcript) {
		for _, adds := range []bool{false, true} {
			store := NewTTLStore(MetaNamespaceKeyFunc, time.Second) // which is no Indexer
			mutations := c.storage.mutationCache(store, MutationCacheOptions{IncludeAdds: adds, TTL: time.Minute})
			mutations.Mutation(podOf("", "a", "5"))
			mutations.Mutation("x")
			obj, exists, err := mutations.GetByKey("a")
			c.write("%v %v %v", obj != nil, exists, err)
			_, err = mutations.ByIndex("x", "y")
			c.write("%v", err)
		}
	},
}

func TestStoreDetails_AreThoseOfClientGo(t *testing.T) { storeDetails.compare(t) }
