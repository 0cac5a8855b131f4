package indexer

import (
	"runtime"
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

// BenchmarkWriteBesideTenReadersOfOneNamespace is the same with readers that ask for a namespace in which a twentieth of all objects are.
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

// BenchmarkListBesideAWriterOnBusyProcessors times a list while one goroutine writes in a loop and four compute. writes/s says
// what the writer got.
func BenchmarkListBesideAWriterOnBusyProcessors(b *testing.B) { listOnBusyProcessors(b, 1) }

// BenchmarkListOfACrowdBesideAWriterOnBusyProcessors is the same with more listers than processors: what they pay for giving way to
// the writer, since the others take what they give.
func BenchmarkListOfACrowdBesideAWriterOnBusyProcessors(b *testing.B) {
	listOnBusyProcessors(b, runtime.GOMAXPROCS(0)+1)
}

func listOnBusyProcessors(b *testing.B, listers int) {
	bench(b, both, func(b *testing.B, c contender, pods []*corev1.Pod) {
		var writes, result atomic.Int64
		u := updatesOf(c, len(pods))
		around(b, listers-1, func() { c.list() })
		around(b, 1, func() { c.update(u.next()); writes.Add(1) })
		around(b, 4, func() {
			x := int64(1)
			for i := range int64(100_000) {
				x = x*3 + i
			}
			result.Store(x)
		})
		before := writes.Load()
		for b.Loop() {
			c.list()
		}
		b.ReportMetric(float64(writes.Load()-before)/b.Elapsed().Seconds(), "writes/s")
	})
}
