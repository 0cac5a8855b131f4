package indexer

import (
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// around runs f in n goroutines, in a loop, until the benchmark is over.
func around(b *testing.B, n int, f func()) {
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

func getInParallel(b *testing.B, c contender, n int) {
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i = (i + 7) % n {
			c.getForeign(i)
		}
	})
}

func BenchmarkGetByKeyOnAllCores(b *testing.B) {
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) { getInParallel(b, c, len(pods)) })
}

// BenchmarkGetByKeyOnAllCoresBesideOneWriter also reports writes/s: readers are fast beside a writer that starves.
func BenchmarkGetByKeyOnAllCoresBesideOneWriter(b *testing.B) {
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) {
		var writes atomic.Int64
		u := updatesOf(c, len(pods))
		around(b, 1, func() { c.update(u.next()); writes.Add(1) })
		b.ResetTimer()
		before := writes.Load()
		getInParallel(b, c, len(pods))
		b.ReportMetric(float64(writes.Load()-before)/b.Elapsed().Seconds(), "writes/s")
	})
}

// BenchmarkWriteBesideTenListers times one write while ten goroutines list in a loop; reads/s says how they fare.
func BenchmarkWriteBesideTenListers(b *testing.B) {
	writeBeside(b, func(c contender) { c.list() })
}

func BenchmarkWriteBesideTenListersInALargeHeap(b *testing.B) {
	inALargeHeap(b, BenchmarkWriteBesideTenListers)
}

// BenchmarkWriteBesideTenReadersOfOneNamespace is the same with readers that ask for a namespace in which a twentieth
// of all objects are.
func BenchmarkWriteBesideTenReadersOfOneNamespace(b *testing.B) {
	writeBeside(b, func(c contender) { c.byNamespace("namespace-3") })
}

func writeBeside(b *testing.B, read func(c contender)) {
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) {
		var reads atomic.Int64
		u := updatesOf(c, len(pods))
		around(b, 10, func() { read(c); reads.Add(1) })
		before := reads.Load()
		for b.Loop() {
			c.update(u.next())
		}
		b.ReportMetric(float64(reads.Load()-before)/b.Elapsed().Seconds(), "reads/s")
	})
}
