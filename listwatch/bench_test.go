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
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"

	"glasswatch/listwatch/memo"
	"glasswatch/listwatch/memo/memotest"

	"glasswatch/listwatch/wire"
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

// benchEvents are the frames of events of 500 pods of 50 templates, one after the other.
func benchEvents(b *testing.B, contentType string) (frames []byte) {
	for n := range benchPods {
		pod := memotest.Pod(n)
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		frames = append(frames, encodeEvent(b, contentType, watch.Modified, pod)...)
	}
	return frames
}

const benchPods = 500

// benchWire runs a benchmark for each wire format.
func benchWire(b *testing.B, run func(b *testing.B, contentType string)) {
	b.Run("wire=json", func(b *testing.B) { run(b, jsonType) })
	b.Run("wire=protobuf", func(b *testing.B) { run(b, protoType) })
}

// benchImpl runs f; the bytes are those of one operation.
func benchImpl(b *testing.B, name string, bytes int, f func(b *testing.B)) {
	b.Run("impl="+name, func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(bytes))
		f(b)
	})
}

func podCodec(b *testing.B) *codec[*corev1.Pod] {
	c, err := newTypedCodec[*corev1.Pod](scheme.Scheme, corev1.SchemeGroupVersion, reflect.TypeFor[*corev1.Pod]())
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func sharingCodec(b *testing.B) *codec[*corev1.Pod] {
	c := podCodec(b)
	c.decoder = memo.New(memo.Options{})
	return c
}

// decodeOnly decodes an object without the event or list around it, as each implementation has to.
func decodeOnly(contentType string, object []byte) error {
	if contentType == protoType {
		return (&corev1.Pod{}).Unmarshal(object)
	}
	return utiljson.Unmarshal(object, &corev1.Pod{})
}

// bareObjects are what decodeOnly decodes.
func bareObjects(b *testing.B, contentType string) (objects [][]byte) {
	for n := range benchPods {
		object := encode(b, contentType, memotest.Pod(n))
		if contentType == protoType {
			var err error
			if object, err = memotest.Pod(n).Marshal(); err != nil {
				b.Fatal(err)
			}
		}
		objects = append(objects, object)
	}
	return objects
}

// BenchmarkNext is one event from the bytes to the typed object. client-go's is the decoder below its StreamWatcher,
// without the goroutine and the channel above it. impl=sharing is a client as our informers have it, whose objects share
// their equal parts. The floor decodes the object, from bytes that lie there.
func BenchmarkNext(b *testing.B) {
	benchWire(b, func(b *testing.B, contentType string) {
		frames := benchEvents(b, contentType)
		size := len(frames) / benchPods
		next := func(b *testing.B, codec *codec[*corev1.Pod]) {
			format, err := wire.FormatOf(contentType)
			if err != nil {
				b.Fatal(err)
			}
			stream := streamOver(b.Context(), format, codec, &cycle{data: frames})
			for b.Loop() {
				if _, err := stream.Next(); err != nil {
					b.Fatal(err)
				}
			}
		}
		benchImpl(b, "glasswatch", size, func(b *testing.B) { next(b, podCodec(b)) })
		if contentType == protoType {
			benchImpl(b, "sharing", size, func(b *testing.B) { next(b, sharingCodec(b)) })
		}
		benchImpl(b, "client-go", size, func(b *testing.B) {
			info := serializerInfo(b, contentType)
			reader := info.StreamSerializer.Framer.NewFrameReader(&cycle{data: frames})
			objects := runtime.Decoder(runtime.WithoutVersionDecoder{Decoder: info.Serializer})
			decoder := restwatch.NewDecoder(streaming.NewDecoder(reader, info.StreamSerializer.Serializer), objects)
			for b.Loop() {
				if _, _, err := decoder.Decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
		benchImpl(b, "floor", size, func(b *testing.B) {
			objects := bareObjects(b, contentType)
			for n := 0; b.Loop(); n++ {
				if err := decodeOnly(contentType, objects[n%benchPods]); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// BenchmarkList is a list of 500 pods from the bytes to typed objects that can be kept one by one, which client-go needs
// a copy for. impl=sharing and the floor are as in BenchmarkNext.
func BenchmarkList(b *testing.B) {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
	for n := range benchPods {
		list.Items = append(list.Items, *memotest.Pod(n))
	}
	benchWire(b, func(b *testing.B, contentType string) {
		body := encode(b, contentType, list)
		decode := func(b *testing.B, codec *codec[*corev1.Pod]) {
			format, err := wire.FormatOf(contentType)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if got, err := decodeList(format, codec, body); err != nil || len(got.Items) != benchPods {
					b.Fatal(err)
				}
			}
		}
		benchImpl(b, "glasswatch", len(body), func(b *testing.B) { decode(b, podCodec(b)) })
		if contentType == protoType {
			benchImpl(b, "sharing", len(body), func(b *testing.B) { decode(b, sharingCodec(b)) })
		}
		benchImpl(b, "client-go", len(body), func(b *testing.B) {
			decoder := runtime.WithoutVersionDecoder{Decoder: serializerInfo(b, contentType).Serializer}
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
				if len(items) != benchPods {
					b.Fatal(len(items))
				}
			}
		})
		benchImpl(b, "floor", len(body), func(b *testing.B) {
			objects := bareObjects(b, contentType)
			for b.Loop() {
				for _, object := range objects {
					if err := decodeOnly(contentType, object); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	})
}

// BenchmarkFrames is the framing alone. The floor copies the bytes once. The rows of JSON are not the same work: client-go's
// framer looks for errors of syntax, too, and copies each frame. Here the decoder finds such errors, as client-go's does
// again. BenchmarkNext has both.
func BenchmarkFrames(b *testing.B) {
	benchWire(b, func(b *testing.B, contentType string) {
		frame := encodeEvent(b, contentType, watch.Modified, memotest.Pod(0))
		benchImpl(b, "glasswatch", len(frame), func(b *testing.B) {
			format, _ := wire.FormatOf(contentType)
			frames := wire.NewReader(&cycle{data: frame}, format, defaultMaxFrameSize)
			for b.Loop() {
				if _, err := frames.Next(true); err != nil {
					b.Fatal(err)
				}
			}
		})
		benchImpl(b, "client-go", len(frame), func(b *testing.B) {
			frames := serializerInfo(b, contentType).StreamSerializer.Framer.NewFrameReader(io.NopCloser(&cycle{data: bytes.Clone(frame)}))
			buf := make([]byte, len(frame))
			for b.Loop() {
				if _, err := frames.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
		benchImpl(b, "floor", len(frame), func(b *testing.B) {
			buf := make([]byte, len(frame))
			for b.Loop() {
				copy(buf, frame)
			}
		})
	})
}
