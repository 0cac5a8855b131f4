//go:build unix

package sharedinformer

import (
	"reflect"
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
	"glasswatch/listwatch/memo/memotest"
	"glasswatch/sharedinformer/transform"
)

// BenchmarkSharing fills a store with 20,000 pods from their protobuf form and says what the store, the pods and the tables
// hold afterwards. They share nothing; what transform.Share finds in them; what the memo finds when it decodes; both, one
// after the other, which an informer does not do.
func BenchmarkSharing(b *testing.B) {
	const count = 20_000
	encoded := memotest.EncodedPods(count)
	type shareFunc = func(*corev1.Pod) (*corev1.Pod, error)
	plain := func(data []byte, pod *corev1.Pod) error { return pod.Unmarshal(data) }
	known := func() func([]byte, *corev1.Pod) error {
		d := memo.New(reflect.TypeFor[*corev1.Pod](), memo.Options{})
		return func(data []byte, pod *corev1.Pod) error { return d.Unmarshal(data, pod) }
	}
	for _, how := range []struct {
		name string
		make func() (func([]byte, *corev1.Pod) error, shareFunc)
	}{
		{"none", func() (func([]byte, *corev1.Pod) error, shareFunc) { return plain, transform.Chain[*corev1.Pod]() }},
		{"share", func() (func([]byte, *corev1.Pod) error, shareFunc) { return plain, transform.Share[*corev1.Pod]() }},
		{"memo", func() (func([]byte, *corev1.Pod) error, shareFunc) { return known(), transform.Chain[*corev1.Pod]() }},
		{"both", func() (func([]byte, *corev1.Pod) error, shareFunc) { return known(), transform.Share[*corev1.Pod]() }},
	} {
		b.Run("how="+how.name, func(b *testing.B) {
			b.ReportAllocs()
			before := liveHeap()
			var kept [3]any
			cpu := -cpuTime()
			for b.Loop() {
				decode, share := how.make()
				store := newPodStore()
				ops := make([]indexer.Op[listwatch.Key, *corev1.Pod], 0, count)
				for _, data := range encoded {
					pod := &corev1.Pod{}
					if err := decode(data, pod); err != nil {
						b.Fatal(err)
					}
					pod, _ = share(pod)
					ops = append(ops, indexer.Op[listwatch.Key, *corev1.Pod]{Key: listwatch.KeyOf(pod), Obj: pod})
				}
				store.Apply(ops, "1")
				kept = [3]any{store, decode, share}
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
