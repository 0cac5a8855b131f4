package listwatch

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"glasswatch/listwatch/shard"
)

// BenchmarkForeign is an event of another shard: dropped by its bytes, or after it was decoded.
func BenchmarkForeign(b *testing.B) {
	benchWire(b, func(b *testing.B, contentType string) {
		frames := benchEvents(b, contentType)
		read := func(b *testing.B, c *codec[*corev1.Pod], drop func(*corev1.Pod) bool) {
			stream := streamOver(context.Background(), formatOf(contentType), c, &cycle{data: frames})
			source := stream.source.(*httpSource[*corev1.Pod])
			for b.Loop() {
				ev, err := source.next(context.Background(), true)
				if err != errForeign && (err != nil || !drop(ev.Object)) {
					b.Fatal(err)
				}
			}
		}
		size := len(frames) / benchPods
		none := shard.Selector{Field: shard.Namespace} // not even one
		benchImpl(b, "raw", size, func(b *testing.B) {
			c := podCodec(b)
			c.shard.Selector = none
			read(b, c, func(*corev1.Pod) bool { return false })
		})
		benchImpl(b, "decode", size, func(b *testing.B) {
			read(b, podCodec(b), func(pod *corev1.Pod) bool { return !none.Matches(pod) })
		})
		if contentType == protoType {
			benchImpl(b, "decode-sharing", size, func(b *testing.B) {
				read(b, sharingCodec(b), func(pod *corev1.Pod) bool { return !none.Matches(pod) })
			})
		}
		if contentType == jsonType {
			maps := func() *codec[*unstructured.Unstructured] {
				return newUnstructuredCodec(corev1.SchemeGroupVersion, "Pod")
			}
			readMaps := func(b *testing.B, c *codec[*unstructured.Unstructured]) {
				stream := streamOver(context.Background(), asJSON, c, &cycle{data: frames})
				source := stream.source.(*httpSource[*unstructured.Unstructured])
				for b.Loop() {
					if ev, err := source.next(context.Background(), true); err != errForeign && (err != nil || none.Matches(ev.Object)) {
						b.Fatal(err)
					}
				}
			}
			benchImpl(b, "raw-unstructured", size, func(b *testing.B) {
				c := maps()
				c.shard.Selector = none
				readMaps(b, c)
			})
			benchImpl(b, "decode-unstructured", size, func(b *testing.B) { readMaps(b, maps()) })
		}
	})
}
