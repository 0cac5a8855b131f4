package indexer

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func BenchmarkUpdateSameIndexValues(b *testing.B) {
	next := map[int][]*corev1.Pod{}
	bench(b, both, func(b *testing.B, c contender, pods []*corev1.Pod) {
		if next[len(pods)] == nil {
			next[len(pods)] = makePods(len(pods))
		}
		next := next[len(pods)]
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
	bench(b, both, func(b *testing.B, c contender, pods []*corev1.Pod) {
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
	bench(b, both, func(b *testing.B, c contender, pods []*corev1.Pod) {
		for b.Loop() {
			c.replace()
		}
	})
}

// BenchmarkBytesPerObject reports what a store weighs beyond its objects. client-go's keys are part of it: it makes them.
func BenchmarkBytesPerObject(b *testing.B) {
	fill := map[string]func(pods []*corev1.Pod) any{
		"glasswatch": func(pods []*corev1.Pod) any {
			s := newOurStore()
			for _, p := range pods {
				_ = s.Add(p)
			}
			return s
		},
		"client-go": func(pods []*corev1.Pod) any {
			s := newTheirStore()
			for _, p := range pods {
				_ = s.Add(p)
			}
			return s
		},
	}
	for _, n := range sizes {
		pods := makePods(n)
		for _, impl := range both {
			b.Run(fmt.Sprintf("objects=%d/impl=%s", n, impl.name), func(b *testing.B) {
				for b.Loop() {
					before := heap()
					s := fill[impl.name](pods)
					b.ReportMetric(float64(heap()-before)/float64(n), "B/object")
					runtime.KeepAlive(s)
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
