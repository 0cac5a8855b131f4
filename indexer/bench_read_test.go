package indexer

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func BenchmarkGetByKey(b *testing.B) {
	bench(b, append(withFloor[:3:3], impl{"locked-map", newLockedMap}), func(b *testing.B, c contender, pods []*corev1.Pod) {
		i := 0
		for b.Loop() {
			c.get(i)
			if i += 7; i >= len(pods) {
				i -= len(pods)
			}
		}
	})
}

// BenchmarkGetByNamespaceAndName is what a lister does that is asked for a name: client-go's joins the two for each question.
func BenchmarkGetByNamespaceAndName(b *testing.B) {
	bench(b, withFloor, func(b *testing.B, c contender, pods []*corev1.Pod) {
		keys, i := keysOf(pods), 0
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
