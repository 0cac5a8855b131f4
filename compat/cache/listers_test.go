package cache

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"
)

func TestListers_ListWhatClientGosList(t *testing.T) {
	klog.LogToStderr(false) // both complain of each store without an index
	klog.SetOutput(io.Discard)
	defer klog.LogToStderr(true)
	selectors := []labels.Selector{labels.Everything(), labels.Nothing(), labels.SelectorFromSet(labels.Set{"app": "web"})}
	rapid.Check(t, func(rt *rapid.T) {
		indexers := Indexers{NamespaceIndex: MetaNamespaceIndexFunc}
		if rapid.Bool().Draw(rt, "no index") {
			indexers = Indexers{}
		}
		// One of our stores under both listers: what is compared is the listing.
		store := NewIndexer(keyOfPod, indexers)
		require.NoError(rt, store.Replace(drawPods(rt, new(int), 9), ""))
		if rapid.IntRange(0, 4).Draw(rt, "something without metadata") == 0 {
			require.NoError(rt, store.Add(ExplicitKey("odd")))
		}
		theirs, ours := clientGoStorage.lister(store), ourStorage.lister(store)
		for _, selector := range selectors {
			for _, namespace := range []string{metav1.NamespaceAll, "a", "c"} {
				list := func(s storage) (names []string, failed bool) {
					err := s.listByNamespace(store, namespace, selector, func(obj any) { names = append(names, printedOne(obj)) })
					return sorted(names), err != nil
				}
				names, failed := list(clientGoStorage)
				ourNames, ourFailed := list(ourStorage)
				require.Equal(rt, failed, ourFailed)
				if failed {
					continue // it ends anywhere
				}
				require.Equal(rt, names, ourNames)
				if _, odd, _ := store.GetByKey("odd"); odd {
					continue // it is no runtime.Object
				}
				for name := range map[string]bool{"x": true, "none": true} {
					requireSameGet(rt, theirs, ours, name)
					requireSameGet(rt, theirs.ByNamespace(namespace), ours.ByNamespace(namespace), name)
				}
				requireSameList(rt, theirs, ours, selector)
				requireSameList(rt, theirs.ByNamespace(namespace), ours.ByNamespace(namespace), selector)
			}
		}
	})
}

type getter interface {
	Get(name string) (runtime.Object, error)
	List(selector labels.Selector) ([]runtime.Object, error)
}

func requireSameGet(rt *rapid.T, theirs, ours getter, name string) {
	obj, err := theirs.Get(name)
	ourObj, ourErr := ours.Get(name)
	equalErrors(rt, err, ourErr, "get")
	require.Equal(rt, apierrors.IsNotFound(err), apierrors.IsNotFound(ourErr))
	require.Same(rt, asPod(obj), asPod(ourObj))
}

func requireSameList(rt *rapid.T, theirs, ours getter, selector labels.Selector) {
	list := func(l getter) (names []string) {
		objs, err := l.List(selector)
		require.NoError(rt, err)
		for _, obj := range objs {
			names = append(names, printedOne(obj))
		}
		return sorted(names)
	}
	require.Equal(rt, list(theirs), list(ours))
}
