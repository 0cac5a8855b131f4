package indexer

import (
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkGetByKey asks for the keys that a handler queued: our keys share their strings with the objects, client-go's
// are made by it, a string for each.
func BenchmarkGetByKey(b *testing.B) {
	lookUp(b, append(withFloor[:3:3], impl{"locked-map", newLockedMap}), contender.get)
}

// BenchmarkGetByForeignKey asks for keys of other origin.
func BenchmarkGetByForeignKey(b *testing.B) { lookUp(b, withFloor, contender.getForeign) }

func lookUp(b *testing.B, impls []impl, get func(contender, int) bool) {
	bench(b, impls, func(b *testing.B, c contender, pods []*corev1.Pod) {
		c.replace() // updates of other benchmarks brought strings of their own
		runtime.GC()
		i := 0
		for b.Loop() {
			get(c, i)
			if i += 7; i >= len(pods) {
				i -= len(pods)
			}
		}
	})
}

// BenchmarkGetByNamespaceAndName is what a lister does that is asked for a name: client-go's joins the two for each
// question.
func BenchmarkGetByNamespaceAndName(b *testing.B) {
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) {
		keys, i := foreignKeysOf(pods), 0
		for b.Loop() {
			c.getNamed(keys[i].Namespace, keys[i].Name)
			if i += 7; i >= len(keys) {
				i -= len(keys)
			}
		}
	})
}

func BenchmarkList(b *testing.B) {
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) {
		for b.Loop() {
			c.list()
		}
	})
}

// inALargeHeap measures in a process that holds 300 MB of something else, so that the collector runs seldom.
func inALargeHeap(b *testing.B, measure func(b *testing.B)) {
	ballast := make([]byte, 300<<20)
	measure(b)
	runtime.KeepAlive(ballast)
}

func BenchmarkListInALargeHeap(b *testing.B) { inALargeHeap(b, BenchmarkList) }

// BenchmarkIterate visits every object: with All, or through a list.
func BenchmarkIterate(b *testing.B) {
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) {
		for b.Loop() {
			c.each()
		}
	})
}

func BenchmarkByIndex100Hits(b *testing.B) {
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) {
		for b.Loop() {
			c.byNode("node-3")
		}
	})
}

// BenchmarkIndex asks after each update which objects share the updated one's node: a hundred. A write comes before each
// question, so nothing that was made for the last answer is of use.
func BenchmarkIndex(b *testing.B) {
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) {
		u := updatesOf(c, len(pods))
		for b.Loop() {
			p := u.next()
			c.update(p)
			c.index(p)
		}
	})
}
