//go:build unix

package memo

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"glasswatch/listwatch/memo/memotest"
)

// BenchmarkUnmarshal decodes 5,000 pods that are kept, as in the store of an informer: with the generated Unmarshal, which
// client-go calls, with a Decoder that knows nothing yet, and with one that has seen such pods before. live-B/pod is what a
// pod and its part of the memo hold.
func BenchmarkUnmarshal(b *testing.B) {
	const count = 5_000
	encoded := memotest.EncodedPods(count)
	var bytes int64
	for _, data := range encoded {
		bytes += int64(len(data))
	}
	pods := make([]corev1.Pod, count)
	measure := func(b *testing.B, decoder func() func([]byte, *corev1.Pod) error) {
		b.ReportAllocs()
		b.SetBytes(bytes)
		clear(pods)
		before := liveHeap()
		var decode func([]byte, *corev1.Pod) error
		cpu := -cpuTime()
		for b.Loop() {
			decode = decoder()
			for n, data := range encoded {
				pods[n] = corev1.Pod{}
				if err := decode(data, &pods[n]); err != nil {
					b.Fatal(err)
				}
			}
		}
		cpu += cpuTime()
		b.ReportMetric(float64(liveHeap()-before)/count, "live-B/pod")
		b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N)/count, "cpu-ns/pod")
		runtime.KeepAlive(decode)
	}
	b.Run("impl=client-go", func(b *testing.B) {
		measure(b, func() func([]byte, *corev1.Pod) error {
			return func(data []byte, pod *corev1.Pod) error { return pod.Unmarshal(data) }
		})
	})
	b.Run("impl=glasswatch", func(b *testing.B) {
		measure(b, func() func([]byte, *corev1.Pod) error {
			d := New(Options{})
			return func(data []byte, pod *corev1.Pod) error { return d.Unmarshal(data, pod) }
		})
	})
	b.Run("impl=warm", func(b *testing.B) {
		d := New(Options{})
		for _, data := range encoded {
			_ = d.Unmarshal(data, &corev1.Pod{})
		}
		measure(b, func() func([]byte, *corev1.Pod) error {
			return func(data []byte, pod *corev1.Pod) error { return d.Unmarshal(data, pod) }
		})
		found := d.stats()
		b.ReportMetric(float64(found.Found)/float64(found.Asked), "found/asked")
	})
}

// cpuTime is what the process has used: a wall clock shows who else is running.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
