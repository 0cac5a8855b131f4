package cache

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"
)

// The store behind client-go's names beside client-go's own, on the workloads of package indexer's benchmarks. The key and
// index functions are client-go's kind: they make strings and slices.
//
//	go test -run - -bench Store -count 6 | benchstat -col /impl -

var storeSizes = []int{1_000, 10_000, 100_000}

type storeImpl struct {
	name string
	new  func(pods []any) clientgo.Indexer
}

var stores = []storeImpl{
	{"compat", func(pods []any) clientgo.Indexer {
		return filled(NewIndexer(MetaNamespaceKeyFunc, Indexers{"namespace": MetaNamespaceIndexFunc, "node": byNode}), pods)
	}},
	{"client-go", func(pods []any) clientgo.Indexer {
		return filled(clientgo.NewIndexer(clientgo.MetaNamespaceKeyFunc,
			clientgo.Indexers{"namespace": clientgo.MetaNamespaceIndexFunc, "node": byNode}), pods)
	}},
}

// leastStore is what no store with these functions does without when it is written: their calls, and a map entry.
type leastStore struct {
	clientgo.Indexer // nil: nothing else is asked of it
	objs             map[string]any
}

func newLeastStore(pods []any) clientgo.Indexer {
	s := &leastStore{objs: map[string]any{}}
	for _, p := range pods {
		_ = s.Update(p)
	}
	return s
}

func (s *leastStore) Update(obj any) error {
	key, _ := clientgo.MetaNamespaceKeyFunc(obj)
	_, _ = clientgo.MetaNamespaceIndexFunc(obj)
	_, _ = byNode(obj)
	s.objs[key] = obj
	return nil
}

func byNode(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }

func filled(s clientgo.Indexer, pods []any) clientgo.Indexer {
	for _, p := range pods {
		_ = s.Add(p)
	}
	return s
}

// podsToStore makes n pods in 20 namespaces, a hundred pods on a node.
func podsToStore(n int) []any {
	pods := make([]any, n)
	for i := range pods {
		pods[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "namespace-" + strconv.Itoa(i%20), Name: "deployment-5d4f8c7b9-" + strconv.Itoa(i), ResourceVersion: "1"},
			Spec:       corev1.PodSpec{NodeName: "node-" + strconv.Itoa(i/100)},
		}
	}
	return pods
}

// builtStores are kept for all benchmarks: to build a large one takes longer than to measure most things.
var builtStores = struct {
	pods    map[int][]any
	stores  map[string]clientgo.Indexer
	sets    map[int][2][]any
	updates map[clientgo.Indexer]*storeUpdates
}{map[int][]any{}, map[string]clientgo.Indexer{}, map[int][2][]any{}, map[clientgo.Indexer]*storeUpdates{}}

// storeUpdates are updates of a store's objects. They have the same keys, but strings of their own, as in an informer.
// Two sets take turns, so that no update stores what is stored.
type storeUpdates struct {
	sets [2][]any
	at   int
}

// updatesOf returns the one of s, which holds n objects. It goes on where the benchmark before it stopped.
func updatesOf(s clientgo.Indexer, n int) *storeUpdates {
	if builtStores.sets[n][0] == nil {
		builtStores.sets[n] = [2][]any{podsToStore(n), podsToStore(n)}
		runtime.GC() // as in benchStore
	}
	if builtStores.updates[s] == nil {
		builtStores.updates[s] = &storeUpdates{sets: builtStores.sets[n]}
	}
	return builtStores.updates[s]
}

func (u *storeUpdates) next() any {
	p := u.sets[0][u.at]
	if u.at += 13; u.at >= len(u.sets[0]) {
		u.at -= len(u.sets[0])
	}
	if u.at == 0 { // each has had its turn: no size is a multiple of 13
		u.sets[0], u.sets[1] = u.sets[1], u.sets[0]
	}
	return p
}

func benchStore(b *testing.B, run func(b *testing.B, s clientgo.Indexer, pods []any), more ...storeImpl) {
	for _, n := range storeSizes {
		for _, impl := range slices.Concat(stores, more) {
			name := fmt.Sprintf("objects=%d/impl=%s", n, impl.name)
			b.Run(name, func(b *testing.B) {
				if builtStores.pods[n] == nil {
					builtStores.pods[n] = podsToStore(n)
				}
				if builtStores.stores[name] == nil {
					builtStores.stores[name] = impl.new(builtStores.pods[n])
				}
				b.ReportAllocs()
				runtime.GC()   // what was built is not swept while something is measured
				b.ResetTimer() // b.Loop does that by itself, b.RunParallel does not
				run(b, builtStores.stores[name], builtStores.pods[n])
			})
		}
	}
}

func podKeys(pods []any) []string {
	keys := make([]string, len(pods))
	for i, p := range pods {
		keys[i], _ = clientgo.MetaNamespaceKeyFunc(p)
	}
	return keys
}

func BenchmarkStoreGetByKey(b *testing.B) {
	benchStore(b, func(b *testing.B, s clientgo.Indexer, pods []any) {
		keys, i := podKeys(pods), 0
		for b.Loop() {
			_, _, _ = s.GetByKey(keys[i])
			i = (i + 7) % len(keys)
		}
	})
}

// BenchmarkStoreGetByKeyOnAllCoresBesideOneWriter also reports writes/s: readers are fast beside a writer that starves.
func BenchmarkStoreGetByKeyOnAllCoresBesideOneWriter(b *testing.B) {
	benchStore(b, func(b *testing.B, s clientgo.Indexer, pods []any) {
		var writes atomic.Int64
		keys, u := podKeys(pods), updatesOf(s, len(pods))
		aroundStore(b, 1, func() { _ = s.Update(u.next()); writes.Add(1) })
		b.ResetTimer()
		before := writes.Load()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i = (i + 7) % len(keys) {
				_, _, _ = s.GetByKey(keys[i])
			}
		})
		b.ReportMetric(float64(writes.Load()-before)/b.Elapsed().Seconds(), "writes/s")
	})
}

func BenchmarkStoreList(b *testing.B) {
	benchStore(b, func(b *testing.B, s clientgo.Indexer, pods []any) {
		for b.Loop() {
			s.List()
		}
	})
}

// inALargeHeap measures in a process that holds 300 MB of something else, so that the collector runs seldom.
func inALargeHeap(b *testing.B, measure func(b *testing.B)) {
	ballast := make([]byte, 300<<20)
	measure(b)
	runtime.KeepAlive(ballast)
}

func BenchmarkStoreListInALargeHeap(b *testing.B) { inALargeHeap(b, BenchmarkStoreList) }

func BenchmarkStoreByIndex100Hits(b *testing.B) {
	benchStore(b, func(b *testing.B, s clientgo.Indexer, pods []any) {
		for b.Loop() {
			_, _ = s.ByIndex("node", "node-3")
		}
	})
}

func BenchmarkStoreUpdateSameIndexValues(b *testing.B) {
	benchStore(b, func(b *testing.B, s clientgo.Indexer, pods []any) {
		u := updatesOf(s, len(pods))
		for b.Loop() {
			_ = s.Update(u.next())
		}
	}, storeImpl{"floor", newLeastStore})
}

func BenchmarkStoreReplace(b *testing.B) {
	benchStore(b, func(b *testing.B, s clientgo.Indexer, pods []any) {
		for b.Loop() {
			_ = s.Replace(pods, "1")
		}
	})
}

func BenchmarkStoreWriteBesideTenListers(b *testing.B) {
	writeBeside(b, func(s clientgo.Indexer) { s.List() })
}

func BenchmarkStoreWriteBesideTenListersInALargeHeap(b *testing.B) {
	inALargeHeap(b, BenchmarkStoreWriteBesideTenListers)
}

func BenchmarkStoreWriteBesideTenReadersOfOneNamespace(b *testing.B) {
	writeBeside(b, func(s clientgo.Indexer) { _, _ = s.ByIndex("namespace", "namespace-3") })
}

// writeBeside times one write while ten goroutines read in a loop; reads/s says how they fare.
func writeBeside(b *testing.B, read func(s clientgo.Indexer)) {
	benchStore(b, func(b *testing.B, s clientgo.Indexer, pods []any) {
		var reads atomic.Int64
		u := updatesOf(s, len(pods))
		aroundStore(b, 10, func() { read(s); reads.Add(1) })
		before := reads.Load()
		for b.Loop() {
			_ = s.Update(u.next())
		}
		b.ReportMetric(float64(reads.Load()-before)/b.Elapsed().Seconds(), "reads/s")
	})
}

// aroundStore runs f in n goroutines, in a loop, until the benchmark is over.
func aroundStore(b *testing.B, n int, f func()) {
	var stop atomic.Bool
	var started, wg sync.WaitGroup
	started.Add(n)
	for range n {
		wg.Go(func() {
			started.Done()
			for !stop.Load() {
				f()
			}
		})
	}
	started.Wait()
	b.Cleanup(func() { stop.Store(true); wg.Wait() })
}

// BenchmarkStoreBytesPerObject reports what a store weighs beyond its objects.
func BenchmarkStoreBytesPerObject(b *testing.B) {
	for _, n := range storeSizes {
		pods := podsToStore(n)
		for _, impl := range stores {
			b.Run(fmt.Sprintf("objects=%d/impl=%s", n, impl.name), func(b *testing.B) {
				for b.Loop() {
					before := heapInUse()
					s := impl.new(pods)
					b.ReportMetric(float64(heapInUse()-before)/float64(n), "B/object")
					runtime.KeepAlive(s)
				}
			})
		}
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
