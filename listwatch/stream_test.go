package listwatch

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func TestStream_DeliversEveryKindOfEventInOrder(t *testing.T) {
	for _, contentType := range bothTypes {
		t.Run(contentType, func(t *testing.T) {
			stream := watchServices(t, contentType+";stream=watch", slices.Concat(
				encodeEvent(t, contentType, watch.Added, serviceV1("cart", "5")),
				encodeEvent(t, contentType, watch.Bookmark, bookmarkV1("6", true)),
				encodeEvent(t, contentType, watch.Modified, serviceV1("cart", "7")),
				encodeEvent(t, contentType, watch.Deleted, serviceV1("cart", "8")),
				encodeEvent(t, contentType, watch.Bookmark, bookmarkV1("9", false)),
			), Options{})
			service := func(rv string) *corev1.Service {
				s := serviceV1("cart", rv)
				s.TypeMeta = metav1.TypeMeta{} // the Go type says it
				return s
			}
			for _, want := range []Event[*corev1.Service]{
				{Type: Added, Object: service("5"), ResourceVersion: "5"},
				{Type: Bookmark, ResourceVersion: "6", InitialEventsEnd: true},
				{Type: Modified, Object: service("7"), ResourceVersion: "7"},
				{Type: Deleted, Object: service("8"), ResourceVersion: "8"},
				{Type: Bookmark, ResourceVersion: "9"},
			} {
				got, err := stream.Next()
				require.NoError(t, err)
				assert.Equal(t, want, got)
			}
			for range 2 {
				_, err := stream.Next()
				assert.Equal(t, io.EOF, err)
			}
		})
	}
}

func TestStream_ErrorEventIsAStatusErrorAndTheLast(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old resource version: 3 (9)").ErrStatus
	expired.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	for _, contentType := range bothTypes {
		t.Run(contentType, func(t *testing.T) {
			stream := watchServices(t, contentType, slices.Concat(
				encodeEvent(t, contentType, watch.Error, &expired),
				encodeEvent(t, contentType, watch.Added, serviceV1("cart", "5")),
			), Options{})
			for range 2 {
				_, err := stream.Next()
				status, ok := errors.AsType[*apierrors.StatusError](err)
				require.True(t, ok, "%v", err)
				assert.Equal(t, expired.Message, status.Error())
				assert.True(t, apierrors.IsResourceExpired(err))
			}
		})
		t.Run(contentType+" that holds no Status", func(t *testing.T) {
			stream := watchServices(t, contentType, encodeEvent(t, contentType, watch.Error, serviceV1("cart", "5")), Options{})
			_, err := stream.Next()
			assert.True(t, apierrors.IsInternalError(err), "%v", err)
			assert.ErrorContains(t, err, "a Status was expected, not a v1 Service")
		})
	}
}

func TestStream_StatusInPlaceOfEventsEndsIt(t *testing.T) {
	stream := watchServices(t, jsonType, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`), Options{})
	_, err := stream.Next()
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
}

func TestStream_UnreadableEventCostsOnlyItself(t *testing.T) {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: serviceV1("a-pod", "6").ObjectMeta}
	anonymous := serviceV1("", "6")
	jsonObject := func(spec string) []byte {
		return []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"shop","name":"bad","resourceVersion":"6"},"spec":` + spec + `}`)
	}
	shortProto := encode(t, protoType, serviceV1("bad", "6"))
	good := []byte(`{}`)
	for _, tc := range []struct {
		name, contentType string
		frame             []byte
		want              ObjectError
		says              string
	}{
		{"another kind, JSON", jsonType, encodeEvent(t, jsonType, watch.Deleted, pod), ObjectError{Deleted, Key{Namespace: "shop", Name: "a-pod"}, "6", nil}, "the object is a v1 Pod, not a v1 Service"},
		{"another kind, protobuf", protoType, encodeEvent(t, protoType, watch.Deleted, pod), ObjectError{Deleted, Key{Namespace: "shop", Name: "a-pod"}, "6", nil}, "the object is a v1 Pod, not a v1 Service"},
		{"no name, JSON", jsonType, encodeEvent(t, jsonType, watch.Added, anonymous), ObjectError{Added, Key{}, "6", nil}, "no name"},
		{"no name, protobuf", protoType, encodeEvent(t, protoType, watch.Added, anonymous), ObjectError{Added, Key{}, "6", nil}, "no name"},
		{"field of another type", jsonType, encodeRaw(t, jsonType, "MODIFIED", jsonObject(`{"ports":"many"}`)), ObjectError{Modified, Key{Namespace: "shop", Name: "bad"}, "6", nil}, "cannot unmarshal string"},
		{"unknown event type", jsonType, encodeRaw(t, jsonType, "RENAMED", jsonObject(`{}`)), ObjectError{0, Key{Namespace: "shop", Name: "bad"}, "6", nil}, `unknown type "RENAMED"`},
		{"namespace of another type", jsonType, encodeRaw(t, jsonType, "ADDED", []byte(`{"metadata":{"namespace":1,"name":"x"}}`)), ObjectError{Added, Key{}, "", nil}, "unmarshal"},
		{"no object", jsonType, []byte(`{"type":"ADDED"}`), ObjectError{Added, Key{}, "", nil}, "without an object"},
		{"null", jsonType, []byte(`{"type":"ADDED","object":null}`), ObjectError{Added, Key{}, "", nil}, "no name"},
		{"empty frame", protoType, lengthPrefixed(nil), ObjectError{}, "not a Kubernetes protobuf object"},
		{"garbage in a frame", protoType, lengthPrefixed([]byte("\xff\xff\xff")), ObjectError{}, "protobuf message is broken: unexpected EOF"},
		{"garbage in an object", protoType, encodeRaw(t, protoType, "ADDED", []byte("k8s\x00\xff\xff")), ObjectError{Added, Key{}, "", nil}, "protobuf message is broken: unexpected EOF"},
		{"object without its envelope", protoType, encodeRaw(t, protoType, "ADDED", []byte("{}")), ObjectError{Added, Key{}, "", nil}, "not a Kubernetes protobuf object"},
		{"object that breaks off", protoType, encodeRaw(t, protoType, "ADDED", shortProto[:len(shortProto)-8]), ObjectError{Added, Key{}, "", nil}, "protobuf message is broken: unexpected EOF"},
		{"bookmark without a resourceVersion", jsonType, encodeRaw(t, jsonType, "BOOKMARK", good), ObjectError{Type: Bookmark}, "no resourceVersion"},
		{"bookmark without a resourceVersion, protobuf", protoType, encodeEvent(t, protoType, watch.Bookmark, bookmarkV1("", true)), ObjectError{Type: Bookmark}, "no resourceVersion"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stream := watchServices(t, tc.contentType, slices.Concat(tc.frame, encodeEvent(t, tc.contentType, watch.Added, serviceV1("good", "7"))), Options{})
			_, err := stream.Next()
			bad, ok := errors.AsType[*ObjectError](err)
			require.True(t, ok, "%v", err)
			assert.ErrorContains(t, bad.Err, tc.says)
			bad.Err = nil
			assert.Equal(t, tc.want, *bad)
			ev, err := stream.Next()
			require.NoError(t, err)
			assert.Equal(t, "good", ev.Object.Name)
		})
	}
}

func TestStream_ObjectThatNamesItsKindOnlyIsTakenAtItsKind(t *testing.T) {
	raw, err := serviceV1("cart", "6").Marshal()
	require.NoError(t, err)
	envelope, err := (&apiruntime.Unknown{TypeMeta: apiruntime.TypeMeta{Kind: "Service"}, Raw: raw}).Marshal()
	require.NoError(t, err)
	objects := map[string][]byte{
		jsonType:  []byte(`{"kind":"Service","metadata":{"name":"cart"}}`),
		protoType: append([]byte(protobufPrefix), envelope...),
	}
	for _, contentType := range bothTypes {
		stream := watchServices(t, contentType, encodeRaw(t, contentType, "ADDED", objects[contentType]), Options{})
		ev, err := stream.Next()
		require.NoError(t, err)
		assert.Equal(t, "cart", ev.Object.Name)
	}
}

func TestStream_BrokenStreamIsAnErrorAndNeverAnEvent(t *testing.T) {
	event := encodeEvent(t, jsonType, watch.Added, serviceV1("cart", "5"))
	framed := encodeEvent(t, protoType, watch.Added, serviceV1("cart", "5"))
	for _, tc := range []struct {
		name, contentType string
		body              []byte
		is                error
		says              string
	}{
		{"JSON frame breaks off", jsonType, event[:len(event)-9], io.ErrUnexpectedEOF, "within a frame"},
		{"length breaks off", protoType, framed[:3], io.ErrUnexpectedEOF, "within a frame, after 3 of its bytes"},
		{"frame breaks off", protoType, framed[:40], io.ErrUnexpectedEOF, "within a frame"},
		{"no JSON", jsonType, []byte("<html>502</html>"), nil, "where a JSON object must start"},
		{"brackets without JSON", jsonType, []byte(`{"type":"ADDED","object":{nonsense}}`), nil, "garbage"},
		{"a member of no JSON", jsonType, []byte(`{"type":"ADDED","object":{"metadata":{"name":"cart"}},"more":{{}}}`), nil, "garbage"},
		{"an object of no JSON before the object", jsonType, []byte(`{"type":"ADDED","object":{]},"object":{"metadata":{"name":"cart"}}}`), nil, "garbage"},
		{"a type of no JSON before the type", jsonType, []byte("{\"type\":\"\x01\",\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"cart\"}}}"), nil, "garbage"},
		{"no separator", jsonType, []byte(`{"type":"ADDED" "object":{}}`), nil, "garbage"},
		{"huge JSON frame", jsonType, []byte(`{"type":"` + strings.Repeat("x", 2000)), ErrFrameTooLarge, "limit 1000"},
		{"huge length", protoType, []byte("\xff\xff\xff\xff..."), ErrFrameTooLarge, "limit 1000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stream := watchServices(t, tc.contentType, tc.body, Options{MaxFrameSize: 1000})
			_, first := stream.Next()
			require.ErrorContains(t, first, tc.says)
			if tc.is != nil {
				assert.ErrorIs(t, first, tc.is)
			}
			_, isObjectError := errors.AsType[*ObjectError](first)
			assert.False(t, isObjectError)
			_, second := stream.Next()
			assert.Equal(t, first, second)
		})
	}
}

// A server that dies does not finish its chunked body: that is no clean end, even between two frames.
func TestStream_ConnectionLostBetweenFramesIsNoCleanEnd(t *testing.T) {
	event := encodeEvent(t, jsonType, watch.Added, serviceV1("cart", "5"))
	client := servicesOf(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write(event)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})), Options{})
	stream, err := client.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer stream.Close()
	_, err = stream.Next()
	require.NoError(t, err)
	_, err = stream.Next()
	require.ErrorContains(t, err, "broke between two frames")
	assert.NotErrorIs(t, err, io.EOF)
}

// The frame buffer is used again; an object must not point into it.
func TestStream_ObjectsOwnTheirMemory(t *testing.T) {
	for _, contentType := range bothTypes {
		var body []byte
		for _, name := range []string{"first", "other"} {
			body = append(body, encodeEvent(t, contentType, watch.Added, serviceV1(name, "5"))...)
		}
		from := &remembering{from: bytes.NewReader(body)}
		first, err := cannedStream(t, contentType, from).Next()
		require.NoError(t, err)
		for i := range from.buf {
			from.buf[i] = '#'
		}
		assert.Equal(t, "shop/first", KeyOf(first.Object).String())
		assert.Equal(t, "http", first.Object.Spec.Ports[0].Name)
		assert.Equal(t, "10.0.0.1", first.Object.Spec.ClusterIP)
	}
}

// remembering keeps the buffer that it was read into.
type remembering struct {
	from io.Reader
	buf  []byte
}

func (r *remembering) Read(p []byte) (int, error) {
	r.buf = p
	return r.from.Read(p)
}
