//go:build unix

package sharedinformer

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
	"glasswatch/listwatch/memo/memotest"
)

// BenchmarkSharing fills a store with 20,000 pods from their protobuf form and says what the store, the pods and the table
// hold afterwards: pods that share nothing, and pods that share what the memo finds.
func BenchmarkSharing(b *testing.B) {
	const count = 20_000
	encoded := memotest.EncodedPods(count)
	type decodeFunc = func([]byte, *corev1.Pod) error
	for _, how := range []struct {
		name string
		make func() decodeFunc
	}{
		{"none", func() decodeFunc { return func(data []byte, pod *corev1.Pod) error { return pod.Unmarshal(data) } }},
		{"memo", func() decodeFunc {
			d := memo.New(memo.Options{})
			return func(data []byte, pod *corev1.Pod) error { return d.Unmarshal(data, pod) }
		}},
	} {
		b.Run("how="+how.name, func(b *testing.B) {
			b.ReportAllocs()
			before := liveHeap()
			var kept [2]any
			cpu := -cpuTime()
			for b.Loop() {
				decode := how.make()
				store := newPodStore()
				ops := make([]indexer.Op[listwatch.Key, *corev1.Pod], 0, count)
				for _, data := range encoded {
					pod := &corev1.Pod{}
					if err := decode(data, pod); err != nil {
						b.Fatal(err)
					}
					ops = append(ops, indexer.Op[listwatch.Key, *corev1.Pod]{Key: listwatch.KeyOf(pod), Obj: pod})
				}
				store.Apply(ops, "1")
				kept = [2]any{store, decode}
			}
			cpu += cpuTime()
			b.ReportMetric(float64(liveHeap()-before)/1e6, "live-MB")
			b.ReportMetric(float64(cpu.Microseconds())/1e3/float64(b.N), "cpu-ms")
			runtime.KeepAlive(kept)
		})
	}
}

func newPodStore() *indexer.Store[listwatch.Key, *corev1.Pod] {
	return indexer.New(indexer.Options[listwatch.Key, *corev1.Pod]{
		KeyFunc: func(pod *corev1.Pod) (listwatch.Key, error) { return listwatch.KeyOf(pod), nil },
		Compare: compareKeys, Indexers: withNamespaceIndex[*corev1.Pod](nil),
	})
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// cpuTime is what the process has used: a wall clock shows who else is running.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
