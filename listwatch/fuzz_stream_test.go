package listwatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"glasswatch/listwatch/wire"
)

// pulled is what one call of Next returned.
type pulled[T Object] struct {
	ev  Event[T]
	err error
}

// fuzzLimit is what a frame may have in these tests.
const fuzzLimit = 1 << 17

// pullAll returns all that the stream has, with the error that ended it as the last. There are at most as many as bytes.
func pullAll[T Object](t *testing.T, s *puller[T]) (all []pulled[T]) {
	for {
		ev, err := s.Next()
		all = append(all, pulled[T]{ev, err})
		if _, one := errors.AsType[*ObjectError](err); err != nil && !one {
			_, again := s.Next()
			require.Equal(t, err, again, "the end of a stream is its end")
			return all
		}
	}
}

func serviceCodec(t require.TestingT) *codec[*corev1.Service] {
	c, err := newTypedCodec[*corev1.Service](scheme.Scheme, corev1.SchemeGroupVersion, reflect.TypeFor[*corev1.Service]())
	require.NoError(t, err)
	return c
}

// theirEvent decodes an event as client-go does; ok is false if it would not.
func theirEvent(format wire.Format, frame []byte) (typ string, obj *corev1.Service, ok bool) {
	var event metav1.WatchEvent
	var err error
	if format == asProtobuf {
		err = event.Unmarshal(frame)
	} else {
		err = utiljson.Unmarshal(frame, &event) // as its decoders do, capitals count
	}
	if err != nil {
		return "", nil, false
	}
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(event.Object.Raw, nil, nil)
	obj, ok = decoded.(*corev1.Service)
	return event.Type, obj, ok && err == nil
}

// requireLikeTheirs: what client-go takes for an event of a service with a name, is that event.
func requireLikeTheirs(t *testing.T, format wire.Format, frame []byte, got pulled[*corev1.Service]) {
	typ, want, ok := theirEvent(format, frame)
	if !ok || want.Name == "" {
		return
	}
	if got.err != nil && (strings.Contains(got.err.Error(), "content encoding") || strings.Contains(got.err.Error(), "message is broken")) {
		return // client-go would take compressed bytes for those of an object, and reads numbers that overflow
	}
	switch typ {
	case "ADDED", "MODIFIED", "DELETED":
		require.NoError(t, got.err)
		require.Equal(t, typ, got.ev.Type.String())
		want.TypeMeta = metav1.TypeMeta{}
		require.True(t, apiequality.Semantic.DeepEqual(want, got.ev.Object), "%v\n%v", want, got.ev.Object)
		require.Equal(t, want.ResourceVersion, got.ev.ResourceVersion)
	case "BOOKMARK":
		require.Equal(t, want.ResourceVersion, got.ev.ResourceVersion)
		require.Equal(t, want.ResourceVersion == "", got.err != nil)
	case "ERROR":
		_, isStatus := errors.AsType[*apierrors.StatusError](got.err)
		require.True(t, isStatus, "%v", got.err)
	}
}

// requireSound: an event has an object with a name; an error says what it is about, and names no object but the one that
// is there.
func requireSound(t *testing.T, format wire.Format, frame []byte, got pulled[*corev1.Service]) {
	bad, unreadable := errors.AsType[*ObjectError](got.err)
	switch {
	case got.err == nil && got.ev.Type == Bookmark:
		require.NotEmpty(t, got.ev.ResourceVersion)
		require.Nil(t, got.ev.Object)
	case got.err == nil:
		require.NotEmpty(t, got.ev.Object.Name)
		require.Equal(t, metav1.TypeMeta{}, got.ev.Object.TypeMeta)
	case unreadable:
		require.NotEmpty(t, bad.Err.Error())
		_, object, err := format.Event(frame)
		if err != nil {
			return
		}
		var meta metav1.PartialObjectMetadata
		if err := object.Decode(&meta, nil); err == nil && bad.Key != (Key{}) {
			require.Equal(t, Key{Namespace: meta.Namespace, Name: meta.Name}, bad.Key)
		}
	}
}

// requireMetadataToo: the metadata alone is read from whatever the whole object is read from.
func requireMetadataToo(t *testing.T, format wire.Format, frame []byte, got pulled[*corev1.Service]) {
	var body []byte
	if format == asProtobuf {
		body = lengthPrefixed(frame)
	} else {
		body = frame
	}
	meta, err := streamOver(t.Context(), format, newMetadataCodec(corev1.SchemeGroupVersion, true), bytes.NewReader(body)).Next()
	if got.err == nil && got.ev.Type != Bookmark && !oddVersion(format, frame) {
		require.NoError(t, err)
		require.True(t, apiequality.Semantic.DeepEqual(got.ev.Object.ObjectMeta, meta.Object.ObjectMeta))
	}
}

// oddVersion: apimachinery takes the version /v1 for v1.
func oddVersion(_ wire.Format, frame []byte) bool {
	var event struct{ Object metav1.TypeMeta }
	return json.Unmarshal(frame, &event) == nil && event.Object.APIVersion == "/v1"
}

// ends reports whether the result of a frame is one that no other may follow: what the server says went wrong.
func ends(p pulled[*corev1.Service]) bool {
	_, status := errors.AsType[*apierrors.StatusError](p.err)
	return status
}

// seedEvents gives f the frames of all kinds of events, whole and mutilated.
func seedEvents(f *testing.F, contentType string) {
	strip := func(frame []byte) []byte {
		if contentType == protoType {
			return frame[4:]
		}
		return frame
	}
	expired := apierrors.NewResourceExpired("too old resource version: 3 (9)").ErrStatus
	expired.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	for _, typ := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, "RENAMED", ""} {
		f.Add(strip(encodeEvent(f, contentType, typ, serviceV1("cart", "5"))))
	}
	whole := strip(encodeEvent(f, contentType, watch.Added, serviceV1("cart", "5")))
	for _, cut := range []int{0, 1, 5, 12, len(whole) / 2, len(whole) - 3} {
		f.Add(whole[:cut])
	}
	f.Add(slices.Concat(whole, whole))
	f.Add(strip(encodeEvent(f, contentType, watch.Bookmark, bookmarkV1("6", true))))
	f.Add(strip(encodeEvent(f, contentType, watch.Bookmark, bookmarkV1("", false))))
	f.Add(strip(encodeEvent(f, contentType, watch.Error, &expired)))
	f.Add(strip(encodeEvent(f, contentType, watch.Added, serviceV1("", "5"))))
	f.Add(strip(encodeEvent(f, contentType, watch.Added, &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pod"},
	})))
	f.Add(encode(f, contentType, &expired))
}

// FuzzProtobufWatch puts a frame of any bytes between two good ones: those come out whatever is in it, and what client-go
// can read of it is read alike.
func FuzzProtobufWatch(f *testing.F) {
	seedEvents(f, protoType)
	whole := encodeEvent(f, protoType, watch.Added, serviceV1("cart", "5"))[4:]
	f.Add(slices.Concat(whole, []byte{2<<3 | 2, 0})) // the object in two pieces, one of them empty
	f.Add(slices.Concat(whole, []byte{2<<3 | 2, 200, 1, 'x'}))
	first := encodeEvent(f, protoType, watch.Added, serviceV1("first", "3"))
	last := encodeEvent(f, protoType, watch.Added, serviceV1("last", "9"))
	codec, format := serviceCodec(f), asProtobuf
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) > fuzzLimit {
			return
		}
		all := pullAll(t, streamOver(t.Context(), format, codec, bytes.NewReader(slices.Concat(first, lengthPrefixed(frame), last))))
		require.NoError(t, all[0].err)
		require.Equal(t, "first", all[0].ev.Object.Name)
		requireSound(t, format, frame, all[1])
		requireLikeTheirs(t, format, frame, all[1])
		requireMetadataToo(t, format, frame, all[1])
		if ends(all[1]) {
			require.Len(t, all, 2)
			return
		}
		require.Len(t, all, 4)
		require.NoError(t, all[2].err)
		require.Equal(t, "last", all[2].ev.Object.Name)
		require.Equal(t, io.EOF, all[3].err)
	})
}

// FuzzJSONWatch puts any bytes between two good frames. The one before always comes out; the one after does if the bytes
// are objects, whatever is in those.
func FuzzJSONWatch(f *testing.F) {
	seedEvents(f, jsonType)
	first := encodeEvent(f, jsonType, watch.Added, serviceV1("first", "3"))
	last := encodeEvent(f, jsonType, watch.Added, serviceV1("last", "9"))
	codec, format := serviceCodec(f), asJSON
	f.Fuzz(func(t *testing.T, middle []byte) {
		if len(middle) > fuzzLimit/2 {
			return
		}
		all := pullAll(t, streamOver(t.Context(), format, codec, bytes.NewReader(slices.Concat(first, middle, []byte("\n"), last))))
		require.NoError(t, all[0].err)
		require.Equal(t, "first", all[0].ev.Object.Name)
		rest := all[1:]
		frames, whole := objectsIn(middle)
		for n, frame := range frames {
			requireSound(t, format, frame, rest[n])
			requireLikeTheirs(t, format, frame, rest[n])
			requireMetadataToo(t, format, frame, rest[n])
			if ends(rest[n]) {
				require.Len(t, rest, n+1)
				return
			}
		}
		rest = rest[len(frames):]
		if !whole {
			require.NotEqual(t, io.EOF, rest[len(rest)-1].err, "what is no JSON is no clean end")
			return
		}
		require.Len(t, rest, 2)
		require.NoError(t, rest[0].err)
		require.Equal(t, "last", rest[0].ev.Object.Name)
		require.Equal(t, io.EOF, rest[1].err)
	})
}

// objectsIn are the JSON objects that data begins with; whole says that there is nothing else in it.
func objectsIn(data []byte) (objects [][]byte, whole bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var next json.RawMessage
		err := decoder.Decode(&next)
		if err == io.EOF {
			return objects, true
		}
		if err != nil || next[0] != '{' {
			return objects, false
		}
		objects = append(objects, next)
	}
}

func TestObjectsIn_IsWhatItSays(t *testing.T) {
	for data, want := range map[string]string{"": "0 true", " \n": "0 true", "{} {}": "2 true", "{}x": "1 false", "{} [": "1 false", "3": "0 false"} {
		objects, whole := objectsIn([]byte(data))
		require.Equal(t, want, fmt.Sprint(len(objects), " ", whole), data)
	}
}
