package deltafifo

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// The benchmarks play one workload to both implementations, each with the key that its informers use: a NamespacedName
// here, MetaNamespaceKeyFunc there. Objects are made beforehand; the consumers look at what they get and do nothing.
// impl=floor is what no queue of the kind could do without, as each benchmark says.

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

// floor has what a queue must at least do: under a lock, look up what it knows of a key, and append the change.
type floor struct {
	mu    sync.Mutex
	known map[types.NamespacedName]int
	log   []Delta[types.NamespacedName, benchObject]
	next  int
}

func newFloor(objs []benchObject) *floor {
	f := &floor{known: make(map[types.NamespacedName]int, len(objs))}
	for i, o := range objs {
		key, _ := benchKey(o)
		f.known[key] = i + 1
	}
	return f
}

// update looks up nothing if nothing is known.
func (f *floor) update(o benchObject) {
	key, _ := benchKey(o)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || f.known[key] > 0 {
		f.log = append(f.log, Delta[types.NamespacedName, benchObject]{Type: Updated, Key: key, Obj: o})
	}
}

func (f *floor) pop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next++; f.next == len(f.log) {
		f.log, f.next = f.log[:0], 0
	}
}

// popBatch clears what was there, so that nothing is kept alive.
func (f *floor) popBatch() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.log)
	clear(f.log)
	f.log = f.log[:0]
	return n
}

// One op is one Update and one Pop; depth keys are queued before the first is popped. The floor looks up the key once and
// appends the change to a slice, from which it is taken one at a time.
func BenchmarkDeltaFIFO_UpdatePop(b *testing.B) {
	for _, depth := range []int{1, 1_000, 10_000, 100_000} {
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
		b.Run(fmt.Sprintf("depth=%d/impl=floor", depth), func(b *testing.B) {
			f := newFloor(objs)
			b.ReportAllocs()
			rounds(b, depth, func(i int) { f.update(objs[i]) }, f.pop)
		})
	}
}

// rounds plays depth puts, then as many takes, until b is content; one op is a put and a take. The takes of the last round,
// which may be cut short, count as those of the others do.
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
	rest(b, func() {
		for ; queued > 0; queued-- {
			take()
		}
	})
}

// rest is measured as well, after b.Loop has stopped the clock: the half of an op that was put off.
func rest(b *testing.B, f func()) {
	b.StartTimer()
	f()
	b.StopTimer()
}

func mustEqual(b *testing.B, got, want int) {
	b.Helper()
	if got != want {
		b.Fatalf("consumed %d, produced %d", got, want)
	}
}

// One op is one event through the queue; a batch's worth is queued, then popped as batches. The floor appends to a slice and
// clears it.
func BenchmarkInOrder_UpdatePopBatch(b *testing.B) {
	for _, depth := range []int{1, 1_000, 10_000} {
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
			rest(b, func() {
				for waiting > 0 {
					q.PopBatch(process)
				}
			})
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
			rest(b, func() {
				for waiting > 0 {
					q.PopBatch(batch, single)
				}
			})
			mustEqual(b, deltas, b.N)
		})
		b.Run(fmt.Sprintf("depth=%d/impl=floor", depth), func(b *testing.B) {
			f, deltas, waiting := &floor{}, 0, 0
			b.ReportAllocs()
			for b.Loop() {
				f.update(objs[waiting])
				if waiting++; waiting == depth {
					deltas += f.popBatch()
					waiting = 0
				}
			}
			rest(b, func() { deltas += f.popBatch() })
			mustEqual(b, deltas, b.N)
		})
	}
}

// One op is one event from a producer to a consumer that run at the same time: both are through with it. A producer that
// gets the lock more often leaves its consumer behind, so what is queued at the end is part of the time. handed-out/add is
// the share of the events that had been handed out when the producer was done.
func BenchmarkInOrder_ProducerAndConsumer(b *testing.B) {
	objs := benchObjects(1_000)
	b.Run("impl=glasswatch", func(b *testing.B) {
		q := newBenchInOrder()
		var deltas atomic.Int64
		process := func(ds []Delta[types.NamespacedName, benchObject], _ bool) error {
			deltas.Add(int64(len(ds)))
			return nil
		}
		b.ReportAllocs()
		produceAndConsume(b, func(i int) { q.Update(objs[i%len(objs)]) }, func() error { return q.PopBatch(process) }, q.Close, &deltas)
	})
	b.Run("impl=client-go", func(b *testing.B) {
		q := newClientGoInOrder()
		var deltas atomic.Int64
		batch := func(ds []cache.Delta, _ bool) error { deltas.Add(int64(len(ds))); return nil }
		single := func(obj interface{}, _ bool) error { deltas.Add(1); return nil }
		b.ReportAllocs()
		produceAndConsume(b, func(i int) { q.Update(objs[i%len(objs)]) }, func() error { return q.PopBatch(batch, single) }, q.Close, &deltas)
	})
}

func produceAndConsume(b *testing.B, put func(i int), pop func() error, closeQueue func(), consumed *atomic.Int64) {
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
	handedOut := consumed.Load()
	rest(b, func() {
		closeQueue()
		consumer.Wait()
	})
	b.ReportMetric(float64(handedOut)/float64(b.N), "handed-out/add")
	mustEqual(b, int(consumed.Load()), b.N)
}
