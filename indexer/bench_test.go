package indexer

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// The same workload on both stores, with the two indices that pods are usually filed in.
//
//	go test -bench . -count 6 | benchstat -col /impl -

type podKey = types.NamespacedName

func podKeyOf(p *corev1.Pod) (podKey, error) {
	return podKey{Namespace: p.Namespace, Name: p.Name}, nil
}

// contender is a store under test. Each method does one whole job, so that calling it costs nothing to speak of.
type contender interface {
	get(i int) bool
	update(p *corev1.Pod)
	add(p *corev1.Pod)
	remove(p *corev1.Pod)
	list() int
	each() int
	byNode(node string) int
	byNamespace(namespace string) int
	replace(pods []*corev1.Pod)
}

type ours struct {
	s    *Store[podKey, *corev1.Pod]
	keys []podKey
}

func newOurs(pods []*corev1.Pod) contender {
	o := &ours{s: New(Options[podKey, *corev1.Pod]{KeyFunc: podKeyOf, Indexers: Indexers[*corev1.Pod]{
		"namespace": func(p *corev1.Pod, dst []string) ([]string, error) { return append(dst, p.Namespace), nil },
		"node":      func(p *corev1.Pod, dst []string) ([]string, error) { return append(dst, p.Spec.NodeName), nil },
	}})}
	for _, p := range pods {
		o.keys = append(o.keys, podKey{Namespace: p.Namespace, Name: p.Name})
		_ = o.s.Add(p)
	}
	return o
}

func (o *ours) get(i int) bool       { _, ok := o.s.GetByKey(o.keys[i]); return ok }
func (o *ours) update(p *corev1.Pod) { _ = o.s.Update(p) }
func (o *ours) add(p *corev1.Pod)    { _ = o.s.Add(p) }
func (o *ours) remove(p *corev1.Pod) { _ = o.s.Delete(p) }
func (o *ours) list() int            { return len(o.s.List()) }
func (o *ours) each() (n int) {
	for _, p := range o.s.Snapshot().All() {
		if p != nil {
			n++
		}
	}
	return n
}
func (o *ours) byNode(node string) int { l, _ := o.s.ByIndex("node", node); return len(l) }
func (o *ours) byNamespace(namespace string) int {
	l, _ := o.s.ByIndex("namespace", namespace)
	return len(l)
}
func (o *ours) replace(pods []*corev1.Pod) { _ = o.s.Replace(pods, "1") }

type theirs struct {
	s    cache.Indexer
	keys []string
}

func newTheirs(pods []*corev1.Pod) contender {
	o := &theirs{s: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		"namespace": cache.MetaNamespaceIndexFunc,
		"node":      func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	})}
	for _, p := range pods {
		o.keys = append(o.keys, p.Namespace+"/"+p.Name)
		_ = o.s.Add(p)
	}
	return o
}

func (o *theirs) get(i int) bool       { _, ok, _ := o.s.GetByKey(o.keys[i]); return ok }
func (o *theirs) update(p *corev1.Pod) { _ = o.s.Update(p) }
func (o *theirs) add(p *corev1.Pod)    { _ = o.s.Add(p) }
func (o *theirs) remove(p *corev1.Pod) { _ = o.s.Delete(p) }
func (o *theirs) list() int            { return len(o.s.List()) }
func (o *theirs) each() (n int) {
	for _, p := range o.s.List() {
		if p.(*corev1.Pod) != nil {
			n++
		}
	}
	return n
}
func (o *theirs) byNode(node string) int { l, _ := o.s.ByIndex("node", node); return len(l) }
func (o *theirs) byNamespace(namespace string) int {
	l, _ := o.s.ByIndex("namespace", namespace)
	return len(l)
}
func (o *theirs) replace(pods []*corev1.Pod) {
	objs := make([]any, len(pods))
	for i, p := range pods {
		objs[i] = p
	}
	_ = o.s.Replace(objs, "1")
}

// makePods makes n pods in 20 namespaces, a hundred pods on a node.
func makePods(n int) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "namespace-" + strconv.Itoa(i%20), Name: "deployment-5d4f8c7b9-" + strconv.Itoa(i), ResourceVersion: "1"},
			Spec:       corev1.PodSpec{NodeName: "node-" + strconv.Itoa(i/100)},
		}
	}
	return pods
}

func copies(pods []*corev1.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, len(pods))
	for i, p := range pods {
		out[i] = p.DeepCopy()
	}
	return out
}

var impls = []struct {
	name string
	new  func([]*corev1.Pod) contender
}{{"glasswatch", newOurs}, {"client-go", newTheirs}}

func bench(b *testing.B, sizes []int, run func(b *testing.B, c contender, pods []*corev1.Pod)) {
	for _, n := range sizes {
		pods := makePods(n)
		for _, impl := range impls {
			b.Run(fmt.Sprintf("n=%d/impl=%s", n, impl.name), func(b *testing.B) {
				c := impl.new(pods)
				b.ReportAllocs()
				run(b, c, pods)
			})
		}
	}
}

var sizes = []int{1_000, 10_000, 100_000}

// around runs f in n goroutines, in a loop, until the benchmark is over.
func around(b *testing.B, n int, f func(g, i int)) {
	var stop atomic.Bool
	var started, wg sync.WaitGroup
	started.Add(n)
	for g := range n {
		wg.Go(func() {
			started.Done()
			for i := 0; !stop.Load(); i++ {
				f(g, i)
			}
		})
	}
	started.Wait()
	b.Cleanup(func() { stop.Store(true); wg.Wait() })
}

func BenchmarkGetByKey(b *testing.B) {
	bench(b, sizes, func(b *testing.B, c contender, pods []*corev1.Pod) {
		i := 0
		for b.Loop() {
			c.get(i)
			if i += 7; i >= len(pods) {
				i -= len(pods)
			}
		}
	})
}

func BenchmarkGetByKeyParallel(b *testing.B) {
	bench(b, []int{10_000}, func(b *testing.B, c contender, pods []*corev1.Pod) {
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i = (i + 7) % len(pods) {
				c.get(i)
			}
		})
	})
}

func BenchmarkGetByKeyParallelBesidesOneWriter(b *testing.B) {
	bench(b, []int{10_000}, func(b *testing.B, c contender, pods []*corev1.Pod) {
		around(b, 1, func(g, i int) { c.update(pods[i*13%len(pods)]) })
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i = (i + 7) % len(pods) {
				c.get(i)
			}
		})
	})
}

func BenchmarkList(b *testing.B) {
	bench(b, sizes, func(b *testing.B, c contender, pods []*corev1.Pod) {
		for b.Loop() {
			c.list()
		}
	})
}

// BenchmarkIterate visits every object: through a snapshot, or through a list.
func BenchmarkIterate(b *testing.B) {
	bench(b, sizes, func(b *testing.B, c contender, pods []*corev1.Pod) {
		for b.Loop() {
			c.each()
		}
	})
}

func BenchmarkByIndex100Hits(b *testing.B) {
	bench(b, sizes, func(b *testing.B, c contender, pods []*corev1.Pod) {
		for b.Loop() {
			c.byNode("node-3")
		}
	})
}

func BenchmarkUpdateSameIndexValues(b *testing.B) {
	bench(b, sizes, func(b *testing.B, c contender, pods []*corev1.Pod) {
		next := copies(pods)
		i := 0
		for b.Loop() {
			c.update(next[i])
			if i += 7; i >= len(next) {
				i -= len(next)
			}
		}
	})
}

func BenchmarkDeleteAndAdd(b *testing.B) {
	bench(b, sizes, func(b *testing.B, c contender, pods []*corev1.Pod) {
		i := 0
		for b.Loop() {
			c.remove(pods[i])
			c.add(pods[i])
			if i += 7; i >= len(pods) {
				i -= len(pods)
			}
		}
	})
}

func BenchmarkReplace(b *testing.B) {
	bench(b, sizes, func(b *testing.B, c contender, pods []*corev1.Pod) {
		for b.Loop() {
			c.replace(pods)
		}
	})
}

// BenchmarkWriteBesidesTenReaders times one write while ten goroutines list in a loop; lists/s says how they fare.
func BenchmarkWriteBesidesTenReaders(b *testing.B) {
	readers := map[string]func(c contender){
		"list":      func(c contender) { c.list() },
		"namespace": func(c contender) { c.byNamespace("namespace-3") },
	}
	for name, read := range readers {
		b.Run("read="+name, func(b *testing.B) {
			bench(b, []int{10_000}, func(b *testing.B, c contender, pods []*corev1.Pod) {
				var lists atomic.Int64
				around(b, 10, func(g, i int) { read(c); lists.Add(1) })
				before := lists.Load()
				i := 0
				for b.Loop() {
					c.update(pods[i*13%len(pods)])
					i++
				}
				b.ReportMetric(float64(lists.Load()-before)/b.Elapsed().Seconds(), "lists/s")
			})
		})
	}
}

// BenchmarkBytesPerObject reports what a store weighs beyond its objects.
func BenchmarkBytesPerObject(b *testing.B) {
	for _, n := range sizes {
		pods := makePods(n)
		for _, impl := range impls {
			b.Run(fmt.Sprintf("n=%d/impl=%s", n, impl.name), func(b *testing.B) {
				for b.Loop() {
					before := heap()
					c := impl.new(pods)
					switch c := c.(type) {
					case *ours:
						c.keys = nil
					case *theirs:
						c.keys = nil
					}
					b.ReportMetric(float64(heap()-before)/float64(n), "B/object")
					runtime.KeepAlive(c)
				}
			})
		}
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
