package listwatch

import (
	"bytes"
	"io"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"
)

// cycle repeats a frame for ever.
type cycle struct {
	data []byte
	at   int
}

func (c *cycle) Read(p []byte) (int, error) {
	n := copy(p, c.data[c.at:])
	c.at = (c.at + n) % len(c.data)
	return n, nil
}

func (c *cycle) Close() error { return nil }

// benchPod is about as big as pods are.
func benchPod() *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: serviceV1("cart-5d4f8b6c7-x2x9z", "123456").ObjectMeta}
	pod.Labels = map[string]string{"app": "cart", "pod-template-hash": "5d4f8b6c7"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "cart-5d4f8b6c7", UID: "6f1c"}}
	container := corev1.Container{Name: "cart", Image: "registry.example/shop/cart:1.2.3", Ports: []corev1.ContainerPort{{ContainerPort: 8080, Protocol: "TCP"}}}
	for _, name := range []string{"A", "B", "C", "D"} {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: "some value"})
	}
	pod.Spec = corev1.PodSpec{NodeName: "node-17", ServiceAccountName: "cart", Containers: []corev1.Container{container, container}}
	for _, condition := range []corev1.PodConditionType{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: condition, Status: "True"})
	}
	return pod
}

// BenchmarkNext is one event from the bytes to the typed object. client-go's is the decoder below its StreamWatcher,
// without the goroutine and the channel above it.
func BenchmarkNext(b *testing.B) {
	for _, wire := range []struct{ name, contentType string }{{"json", jsonType}, {"protobuf", protoType}} {
		frame := encodeEvent(b, wire.contentType, watch.Modified, benchPod())
		b.Run("wire="+wire.name+"/impl=glasswatch", func(b *testing.B) {
			format, err := formatOf(wire.contentType)
			if err != nil {
				b.Fatal(err)
			}
			codec, err := newTypedCodec[*corev1.Pod](scheme.Scheme, corev1.SchemeGroupVersion, reflect.TypeFor[*corev1.Pod]())
			if err != nil {
				b.Fatal(err)
			}
			stream := &stream[*corev1.Pod]{frames: format.frames(&cycle{data: frame}, defaultMaxFrameSize), format: format, codec: codec,
				protobuf: wire.contentType == protoType, ctx: b.Context()}
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			for b.Loop() {
				if _, err := stream.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("wire="+wire.name+"/impl=client-go", func(b *testing.B) {
			info := serializerInfo(b, wire.contentType)
			frames := info.StreamSerializer.Framer.NewFrameReader(&cycle{data: frame})
			objects := runtime.Decoder(runtime.WithoutVersionDecoder{Decoder: info.Serializer})
			decoder := restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), objects)
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			for b.Loop() {
				if _, _, err := decoder.Decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkList is a list of 500 pods from the bytes to typed objects that can be kept one by one, which client-go needs
// a copy for.
func BenchmarkList(b *testing.B) {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
	for range 500 {
		pod := *benchPod()
		pod.TypeMeta = metav1.TypeMeta{}
		list.Items = append(list.Items, pod)
	}
	for _, wire := range []struct{ name, contentType string }{{"json", jsonType}, {"protobuf", protoType}} {
		body := encode(b, wire.contentType, list)
		b.Run("wire="+wire.name+"/impl=glasswatch", func(b *testing.B) {
			format, err := formatOf(wire.contentType)
			if err != nil {
				b.Fatal(err)
			}
			codec, err := newTypedCodec[*corev1.Pod](scheme.Scheme, corev1.SchemeGroupVersion, reflect.TypeFor[*corev1.Pod]())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if got, err := decodeList(format, codec, body); err != nil || len(got.Items) != 500 {
					b.Fatal(err)
				}
			}
		})
		b.Run("wire="+wire.name+"/impl=client-go", func(b *testing.B) {
			decoder := runtime.WithoutVersionDecoder{Decoder: serializerInfo(b, wire.contentType).Serializer}
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				into := &corev1.PodList{}
				if _, _, err := decoder.Decode(body, nil, into); err != nil {
					b.Fatal(err)
				}
				items := make([]*corev1.Pod, 0, len(into.Items))
				for i := range into.Items {
					item := into.Items[i]
					items = append(items, &item)
				}
				if len(items) != 500 {
					b.Fatal(len(items))
				}
			}
		})
	}
}

// BenchmarkFrames is the framing alone.
func BenchmarkFrames(b *testing.B) {
	for _, wire := range []struct{ name, contentType string }{{"json", jsonType}, {"protobuf", protoType}} {
		frame := encodeEvent(b, wire.contentType, watch.Modified, benchPod())
		b.Run("wire="+wire.name+"/impl=glasswatch", func(b *testing.B) {
			format, _ := formatOf(wire.contentType)
			frames := format.frames(&cycle{data: frame}, defaultMaxFrameSize)
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			for b.Loop() {
				if _, err := frames.next(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("wire="+wire.name+"/impl=client-go", func(b *testing.B) {
			frames := serializerInfo(b, wire.contentType).StreamSerializer.Framer.NewFrameReader(io.NopCloser(&cycle{data: bytes.Clone(frame)}))
			buf := make([]byte, len(frame))
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			for b.Loop() {
				if _, err := frames.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
