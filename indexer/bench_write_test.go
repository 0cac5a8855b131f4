package indexer

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// updates are what is written over the objects of a store: objects of the same keys, but with strings of their own, as
// an informer gets them. Two sets take turns, so that no update stores what is stored.
type updates struct {
	sets [2][]*corev1.Pod
	at   int
}

// updatesOf returns the one of c, which holds n objects. It goes on where the benchmark before it stopped.
func updatesOf(c contender, n int) *updates {
	if built.sets[n][0] == nil {
		built.sets[n] = [2][]*corev1.Pod{makePods(n), makePods(n)}
		runtime.GC() // as in bench
	}
	if built.updates[c] == nil {
		built.updates[c] = &updates{sets: built.sets[n]}
	}
	return built.updates[c]
}

func (u *updates) next() *corev1.Pod {
	p := u.sets[0][u.at]
	if u.at += 13; u.at >= len(u.sets[0]) {
		u.at -= len(u.sets[0])
	}
	if u.at == 0 { // each has had its turn: no size is a multiple of 13
		u.sets[0], u.sets[1] = u.sets[1], u.sets[0]
	}
	return p
}

func BenchmarkUpdateSameIndexValues(b *testing.B) {
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) {
		u := updatesOf(c, len(pods))
		for b.Loop() {
			c.update(u.next())
		}
	})
}

func BenchmarkDeleteAndAdd(b *testing.B) {
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) {
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
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) {
		for b.Loop() {
			c.replace()
		}
	})
}

// BenchmarkBytesPerObject reports what a store weighs beyond its objects. client-go's keys are part of it: it makes
// them.
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

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
