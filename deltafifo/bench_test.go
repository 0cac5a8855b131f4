package deltafifo

import (
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// The benchmarks play one workload to both implementations, each with the key that its informers use: a NamespacedName
// here, MetaNamespaceKeyFunc there. Objects are made beforehand; the consumers look at what they get and do nothing.

type benchObject = *metav1.PartialObjectMetadata

func benchKey(o benchObject) (types.NamespacedName, error) {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, nil
}

func benchObjects(n int) []benchObject {
	objs := make([]benchObject, n)
	for i := range objs {
		objs[i] = &metav1.PartialObjectMetadata{}
		objs[i].Namespace = fmt.Sprintf("namespace-%d", i%10)
		objs[i].Name = fmt.Sprintf("a-name-as-pods-have-%05d", i)
	}
	return objs
}

type emptyStore struct{}

func (emptyStore) ListKeys() []types.NamespacedName                  { return nil }
func (emptyStore) GetByKey(types.NamespacedName) (benchObject, bool) { return nil, false }

type emptyCache struct{}

func (emptyCache) ListKeys() []string                         { return nil }
func (emptyCache) GetByKey(string) (interface{}, bool, error) { return nil, false, nil }

func newBenchFIFO() *DeltaFIFO[types.NamespacedName, benchObject] {
	return NewDeltaFIFO(Options[types.NamespacedName, benchObject]{KeyFunc: benchKey, Known: emptyStore{}})
}

func newBenchInOrder() *InOrder[types.NamespacedName, benchObject] {
	return NewInOrder(Options[types.NamespacedName, benchObject]{KeyFunc: benchKey})
}

func newClientGoFIFO() *cache.DeltaFIFO {
	return cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: emptyCache{}, EmitDeltaTypeReplaced: true})
}

func newClientGoInOrder() *cache.RealFIFO {
	return cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true})
}

// One op is one Update and one Pop; depth keys are queued before the first is popped.
func BenchmarkDeltaFIFO_UpdatePop(b *testing.B) {
	for _, depth := range []int{1, 100, 10_000} {
		objs := benchObjects(depth)
		b.Run(fmt.Sprintf("depth=%d/impl=glasswatch", depth), func(b *testing.B) {
			f := newBenchFIFO()
			deltas := 0
			process := func(_ types.NamespacedName, ds []Delta[types.NamespacedName, benchObject], _ bool) error {
				deltas += len(ds)
				return nil
			}
			b.ReportAllocs()
			rounds(b, depth, func(i int) { f.Update(objs[i]) }, func() { f.Pop(process) })
			mustEqual(b, deltas, b.N)
		})
		b.Run(fmt.Sprintf("depth=%d/impl=client-go", depth), func(b *testing.B) {
			f := newClientGoFIFO()
			deltas := 0
			process := func(obj interface{}, _ bool) error { deltas += len(obj.(cache.Deltas)); return nil }
			b.ReportAllocs()
			rounds(b, depth, func(i int) { f.Update(objs[i]) }, func() { f.Pop(process) })
			mustEqual(b, deltas, b.N)
		})
	}
}

// rounds plays depth puts, then as many takes, until b is content; one op is a put and a take.
func rounds(b *testing.B, depth int, put func(i int), take func()) {
	queued := 0
	for b.Loop() {
		put(queued)
		if queued++; queued == depth {
			for ; queued > 0; queued-- {
				take()
			}
		}
	}
	for ; queued > 0; queued-- {
		take()
	}
}

func mustEqual(b *testing.B, got, want int) {
	b.Helper()
	if got != want {
		b.Fatalf("consumed %d, produced %d", got, want)
	}
}

// One op is one event through the queue; a batch's worth is queued, then popped as batches.
func BenchmarkInOrder_UpdatePopBatch(b *testing.B) {
	for _, depth := range []int{1, 1_000, 5_000} {
		objs := benchObjects(depth)
		b.Run(fmt.Sprintf("depth=%d/impl=glasswatch", depth), func(b *testing.B) {
			q := newBenchInOrder()
			deltas, waiting := 0, 0
			process := func(ds []Delta[types.NamespacedName, benchObject], _ bool) error {
				deltas += len(ds)
				waiting -= len(ds)
				return nil
			}
			b.ReportAllocs()
			for b.Loop() {
				q.Update(objs[waiting])
				if waiting++; waiting == depth {
					for waiting > 0 {
						q.PopBatch(process)
					}
				}
			}
			for waiting > 0 {
				q.PopBatch(process)
			}
			mustEqual(b, deltas, b.N)
		})
		b.Run(fmt.Sprintf("depth=%d/impl=client-go", depth), func(b *testing.B) {
			q := newClientGoInOrder()
			deltas, waiting := 0, 0
			batch := func(ds []cache.Delta, _ bool) error { deltas += len(ds); waiting -= len(ds); return nil }
			single := func(obj interface{}, _ bool) error { deltas++; waiting--; return nil }
			b.ReportAllocs()
			for b.Loop() {
				q.Update(objs[waiting])
				if waiting++; waiting == depth {
					for waiting > 0 {
						q.PopBatch(batch, single)
					}
				}
			}
			for waiting > 0 {
				q.PopBatch(batch, single)
			}
			mustEqual(b, deltas, b.N)
		})
	}
}

// One op is one event from a producer to a consumer that run at the same time.
func BenchmarkInOrder_ProducerAndConsumer(b *testing.B) {
	objs := benchObjects(1_000)
	b.Run("impl=glasswatch", func(b *testing.B) {
		q := newBenchInOrder()
		deltas := 0
		process := func(ds []Delta[types.NamespacedName, benchObject], _ bool) error { deltas += len(ds); return nil }
		b.ReportAllocs()
		produceAndConsume(b, func(i int) { q.Update(objs[i%len(objs)]) }, func() error { return q.PopBatch(process) }, q.Close)
		mustEqual(b, deltas, b.N)
	})
	b.Run("impl=client-go", func(b *testing.B) {
		q := newClientGoInOrder()
		deltas := 0
		batch := func(ds []cache.Delta, _ bool) error { deltas += len(ds); return nil }
		single := func(obj interface{}, _ bool) error { deltas++; return nil }
		b.ReportAllocs()
		produceAndConsume(b, func(i int) { q.Update(objs[i%len(objs)]) }, func() error { return q.PopBatch(batch, single) }, q.Close)
		mustEqual(b, deltas, b.N)
	})
}

func produceAndConsume(b *testing.B, put func(i int), pop func() error, closeQueue func()) {
	var consumer sync.WaitGroup
	consumer.Go(func() {
		for pop() == nil {
		}
	})
	i := 0
	for b.Loop() {
		put(i)
		i++
	}
	closeQueue()
	consumer.Wait()
}

// One op is a relist of 10,000 objects, popped to the end.
func BenchmarkReplace(b *testing.B) {
	const n = 10_000
	objs := benchObjects(n)
	untyped := make([]interface{}, n)
	for i := range objs {
		untyped[i] = objs[i]
	}
	b.Run("queue=per-key/impl=glasswatch", func(b *testing.B) {
		f := newBenchFIFO()
		process := func(types.NamespacedName, []Delta[types.NamespacedName, benchObject], bool) error { return nil }
		b.ReportAllocs()
		for b.Loop() {
			f.Replace(objs, nil, "1")
			for range n {
				f.Pop(process)
			}
		}
	})
	b.Run("queue=per-key/impl=client-go", func(b *testing.B) {
		f := newClientGoFIFO()
		process := func(interface{}, bool) error { return nil }
		b.ReportAllocs()
		for b.Loop() {
			f.Replace(untyped, "1")
			for range n {
				f.Pop(process)
			}
		}
	})
	// Our list comes with its keys; client-go's consumer asks for them.
	b.Run("queue=in-order/impl=glasswatch", func(b *testing.B) {
		q := newBenchInOrder()
		keyed := 0
		process := func(d Delta[types.NamespacedName, benchObject], _ bool) error {
			for i := range d.Bulk.Items {
				keyed += min(1, len(d.Bulk.Items[i].Key.Name))
			}
			return nil
		}
		b.ReportAllocs()
		for b.Loop() {
			q.Replace(objs, nil, "1")
			q.Pop(process)
		}
		mustEqual(b, keyed, n*b.N)
	})
	b.Run("queue=in-order/impl=client-go", func(b *testing.B) {
		q := newClientGoInOrder()
		keyed := 0
		process := func(obj interface{}, _ bool) error {
			for _, o := range obj.(cache.Deltas)[0].Object.(cache.ReplacedAllInfo).Objects {
				key, _ := cache.MetaNamespaceKeyFunc(o)
				keyed += min(1, len(key))
			}
			return nil
		}
		b.ReportAllocs()
		for b.Loop() {
			q.Replace(untyped, "1")
			q.Pop(process)
		}
		mustEqual(b, keyed, n*b.N)
	})
}
