package cache

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
)

// keyedStore shows a ThreadSafeStore as an Indexer, so that both are tested alike.
type keyedStore struct{ ThreadSafeStore }

func (s keyedStore) put(obj any, put func(key string, obj any)) error {
	key, err := keyOfPod(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	put(key, obj)
	return nil
}

func (s keyedStore) Add(obj any) error    { return s.put(obj, s.ThreadSafeStore.Add) }
func (s keyedStore) Update(obj any) error { return s.put(obj, s.ThreadSafeStore.Update) }
func (s keyedStore) Delete(obj any) error { return s.put(obj, s.DeleteWithObject) }

func (s keyedStore) Get(obj any) (item any, exists bool, err error) {
	err = s.put(obj, func(key string, _ any) { item, exists = s.ThreadSafeStore.Get(key) })
	return item, exists, err
}

func (s keyedStore) GetByKey(key string) (any, bool, error) {
	item, exists := s.ThreadSafeStore.Get(key)
	return item, exists, nil
}

func (s keyedStore) Replace(list []any, version string) error {
	items := map[string]any{}
	for _, obj := range list {
		if err := s.put(obj, func(key string, obj any) { items[key] = obj }); err != nil {
			return err
		}
	}
	s.ThreadSafeStore.Replace(items, version)
	return nil
}

func (s keyedStore) Transaction(txns ...Transaction) *TransactionError {
	var keyed []ThreadSafeStoreTransaction
	for _, txn := range txns {
		_ = s.put(txn.Object, func(key string, _ any) {
			keyed = append(keyed, ThreadSafeStoreTransaction{Transaction: txn, Key: key})
		})
	}
	s.ThreadSafeStore.(ThreadSafeStoreWithTransaction).Transaction(keyed...)
	return nil
}

// twins are the same store of both packages.
type twins struct {
	theirs, ours Indexer
	version      int
}

func (w *twins) both(rt *rapid.T, what string, do func(s Indexer) error) {
	equalErrors(rt, do(w.theirs), do(w.ours), what)
}

func (w *twins) step(rt *rapid.T) {
	obj := any(drawPod(rt, &w.version))
	switch rapid.IntRange(0, 19).Draw(rt, "step") {
	case 0, 1, 2, 3, 4, 5:
		w.both(rt, "add", func(s Indexer) error { return s.Add(obj) })
	case 6, 7, 8:
		w.both(rt, "update", func(s Indexer) error { return s.Update(obj) })
	case 9, 10, 11, 12:
		w.both(rt, "delete", func(s Indexer) error { return s.Delete(obj) })
	case 13, 14:
		list := drawPods(rt, &w.version, 8)
		version := rapid.SampledFrom([]string{"", fmt.Sprint(w.version)}).Draw(rt, "version")
		w.both(rt, "replace", func(s Indexer) error { return s.Replace(append([]any(nil), list...), version) })
	case 15:
		w.both(rt, "keyless", func(s Indexer) error { return s.Add("keyless") })
		w.both(rt, "keyless", func(s Indexer) error { return s.Delete("keyless") })
		w.both(rt, "keyless", func(s Indexer) error { return s.Replace([]any{obj, "keyless"}, "9999") })
	case 16:
		w.theirs.Bookmark(fmt.Sprint(w.version))
		w.ours.Bookmark(fmt.Sprint(w.version))
	case 17:
		// The zones are added to a filled store, and are a conflict later.
		w.both(rt, "add indexers", func(s Indexer) error {
			if s.AddIndexers(Indexers{"zones": byZones}) != nil {
				return fmt.Errorf("there already")
			}
			return nil
		})
	default:
		w.transact(rt)
	}
}

func (w *twins) transact(rt *rapid.T) {
	var txns []Transaction
	for range rapid.IntRange(0, 6).Draw(rt, "transactions") {
		txn := Transaction{Object: drawPod(rt, &w.version), Type: rapid.SampledFrom([]TransactionType{
			TransactionTypeAdd, TransactionTypeUpdate, TransactionTypeDelete}).Draw(rt, "type")}
		if rapid.IntRange(0, 9).Draw(rt, "keyless") == 0 {
			txn.Object = "keyless"
		}
		txns = append(txns, txn)
	}
	theirs := w.theirs.(TransactionStore).Transaction(txns...)
	ours := w.ours.(TransactionStore).Transaction(txns...)
	require.Equal(rt, theirs, ours)
}

// requireSame compares all that can be read.
func (w *twins) requireSame(rt *rapid.T) {
	require.Equal(rt, printed(w.theirs.List()), printed(w.ours.List()))
	require.Equal(rt, sorted(w.theirs.ListKeys()), sorted(w.ours.ListKeys()))
	require.Equal(rt, w.theirs.LastStoreSyncResourceVersion(), w.ours.LastStoreSyncResourceVersion())
	probe := drawPod(rt, new(int))
	key, _ := keyOfPod(probe)
	for _, get := range []func(s Indexer) (any, bool, error){
		func(s Indexer) (any, bool, error) { return s.Get(probe) },
		func(s Indexer) (any, bool, error) { return s.GetByKey(key) },
		func(s Indexer) (any, bool, error) { return s.Get("keyless") },
	} {
		obj, exists, err := get(w.theirs)
		ourObj, ourExists, ourErr := get(w.ours)
		require.Same(rt, asPod(obj), asPod(ourObj))
		require.Equal(rt, exists, ourExists)
		equalErrors(rt, err, ourErr, "get")
	}
	for _, index := range []string{NamespaceIndex, "app", "zones", "none"} {
		w.requireSameIndex(rt, index, probe)
	}
}

func asPod(obj any) *corev1.Pod {
	p, _ := obj.(*corev1.Pod)
	return p
}

func (w *twins) requireSameIndex(rt *rapid.T, index string, probe any) {
	values := sorted(w.theirs.ListIndexFuncValues(index))
	require.Equal(rt, values, sorted(w.ours.ListIndexFuncValues(index)))
	require.Equal(rt, w.theirs.GetIndexers()[index] == nil, w.ours.GetIndexers()[index] == nil)
	for _, value := range append(values, "unknown") {
		keys, err := w.theirs.IndexKeys(index, value)
		ourKeys, ourErr := w.ours.IndexKeys(index, value)
		equalErrors(rt, err, ourErr, "index keys")
		require.Equal(rt, append([]string{}, keys...), append([]string{}, ourKeys...), "sorted")
		objs, err := w.theirs.ByIndex(index, value)
		ourObjs, ourErr := w.ours.ByIndex(index, value)
		equalErrors(rt, err, ourErr, "by index")
		require.Equal(rt, printed(objs), printed(ourObjs))
	}
	objs, err := w.theirs.Index(index, probe)
	ourObjs, ourErr := w.ours.Index(index, probe)
	equalErrors(rt, err, ourErr, "index")
	require.Equal(rt, printed(objs), printed(ourObjs))
}

func TestStores_DoWhatClientGosDo(t *testing.T) {
	indexers := func() Indexers { return Indexers{NamespaceIndex: MetaNamespaceIndexFunc, "app": byApp} }
	relabel := func(obj any) (any, error) {
		p, ok := obj.(*corev1.Pod)
		if !ok || p.Annotations["zones"] == "3,3" {
			return nil, fmt.Errorf("%v cannot be transformed", printedOne(obj))
		}
		p = p.DeepCopy()
		p.Labels["app"] += "!"
		return p, nil
	}
	for name, open := range map[string]func(s storage) Indexer{
		"indexer":         func(s storage) Indexer { return s.indexer(keyOfPod, indexers(), nil) },
		"thread-safe map": func(s storage) Indexer { return keyedStore{s.threadSafe(indexers())} },
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				w := &twins{theirs: open(clientGoStorage), ours: open(ourStorage)}
				for range rapid.IntRange(0, 30).Draw(rt, "steps") {
					w.step(rt)
					w.requireSame(rt)
				}
			})
		})
	}
	t.Run("transformer", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			// Transformed copies differ in identity, so the contents are compared by version.
			w := &twins{
				theirs: clientGoStorage.indexer(keyOfPod, indexers(), relabel),
				ours:   ourStorage.indexer(keyOfPod, indexers(), relabel),
			}
			for range rapid.IntRange(0, 30).Draw(rt, "steps") {
				w.step(rt)
				require.Equal(rt, printed(w.theirs.List()), printed(w.ours.List()))
				for _, index := range []string{NamespaceIndex, "app", "zones"} {
					w.requireSameIndex(rt, index, drawPod(rt, new(int)))
				}
			}
		})
	})
}

func TestStore_AFailingIndexFunctionCostsThatObjectThatIndexOnly(t *testing.T) {
	indexers := Indexers{"app": byApp, "zones": byZones}
	s := NewIndexer(keyOfPod, indexers)
	good, bad := &corev1.Pod{}, &corev1.Node{}
	good.Name, bad.Name = "good", "bad"
	good.Annotations = map[string]string{"zones": "1"}
	require.NoError(t, s.Add(good))
	require.NoError(t, s.Add(bad), "byZones fails on it, byApp panics")
	require.Len(t, s.List(), 2)
	keys, err := s.IndexKeys("zones", "1")
	require.NoError(t, err)
	require.Equal(t, []string{"good"}, keys)
	require.Panics(t, func() { _ = clientGoStorage.indexer(keyOfPod, indexers, nil).Add(bad) })
}

func TestStore_RemovesIndexers(t *testing.T) {
	s := NewIndexer(keyOfPod, Indexers{"app": byApp, "zones": byZones})
	remover := s.(interface{ RemoveIndexers(...string) error })
	require.NoError(t, remover.RemoveIndexers("app"))
	require.Error(t, remover.RemoveIndexers("app"))
	require.Len(t, s.GetIndexers(), 1)
	_, err := s.Index("app", &corev1.Pod{})
	require.Error(t, err)
	require.NoError(t, s.AddIndexers(Indexers{"app": byApp}))
}

func TestStore_LeavesTheMapsOfItsCallersAlone(t *testing.T) {
	given := Indexers{"app": byApp}
	s := NewIndexer(keyOfPod, given)
	require.NoError(t, s.AddIndexers(Indexers{"zones": byZones}))
	require.Len(t, given, 1)
	clear(s.GetIndexers())
	require.Len(t, s.GetIndexers(), 2)
	require.NoError(t, NewIndexer(keyOfPod, nil).AddIndexers(given))
}

func TestStore_AnObjectWithoutAResourceVersionLeavesTheStores(t *testing.T) {
	s := NewStore(keyOfPod)
	require.NoError(t, s.Replace(nil, "7"))
	require.NoError(t, s.Add(&corev1.Pod{}))
	s.Bookmark("")
	require.Equal(t, "7", s.LastStoreSyncResourceVersion())
}

// onlyAccessor has metadata, as client-go sees it, and not the methods of metav1.Object.
type onlyAccessor struct {
	metav1.TypeMeta
	Meta metav1.ObjectMeta
}

func (o *onlyAccessor) GetObjectMeta() metav1.Object   { return &o.Meta }
func (o *onlyAccessor) DeepCopyObject() runtime.Object { c := *o; return &c }

func TestSharedInformer_ItsStoreRefusesObjectsThatOnlyPointToTheirMetadata(t *testing.T) {
	obj := &onlyAccessor{Meta: metav1.ObjectMeta{Name: "x"}}
	informer := NewSharedInformer(&ListWatch{}, obj, 0)
	require.ErrorContains(t, informer.GetStore().Add(obj), "onlyAccessor")
	require.NoError(t, NewStore(MetaNamespaceKeyFunc).Add(obj), "other stores take them")
}

// TestIndexer_ByNamespaceIsTheSameWithEitherPackagesFunction: ours and client-go's are not called, a wrapped one is.
func TestIndexer_ByNamespaceIsTheSameWithEitherPackagesFunction(t *testing.T) {
	for name, f := range map[string]IndexFunc{
		"ours": MetaNamespaceIndexFunc, "client-go's": clientgo.MetaNamespaceIndexFunc,
		"wrapped": func(obj any) ([]string, error) { return MetaNamespaceIndexFunc(obj) },
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, name != "wrapped", isMetaNamespaceIndexFunc(f))
			s := NewIndexer(func(obj any) (string, error) { return fmt.Sprint(obj), nil }, Indexers{"ns": f})
			inShop := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}
			nowhere := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
			for _, obj := range []any{inShop, nowhere, "no object"} {
				require.NoError(t, s.Add(obj))
			}
			for value, want := range map[string][]any{"shop": {inShop}, "": {nowhere}} {
				got, err := s.ByIndex("ns", value)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			require.ElementsMatch(t, []string{"", "shop"}, s.ListIndexFuncValues("ns"))
			require.Len(t, s.List(), 3)
		})
	}
	require.False(t, isMetaNamespaceIndexFunc(nil))
}
