package wire

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"
)

const protoType = runtime.ContentTypeProtobuf

// serviceV1 is what a server sends for a service.
func serviceV1(name, resourceVersion string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: resourceVersion},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

func serializerInfo(t testing.TB, contentType string) runtime.SerializerInfo {
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), contentType)
	require.True(t, ok)
	return info
}

// encode writes one object as client-go's encoders, the server's own, do.
func encode(t testing.TB, contentType string, obj runtime.Object) []byte {
	data, err := runtime.Encode(serializerInfo(t, contentType).Serializer, obj)
	require.NoError(t, err)
	return data
}

// encodeEvent writes one frame of a watch, as a server does.
func encodeEvent(t testing.TB, contentType string, typ watch.EventType, obj runtime.Object) []byte {
	var out bytes.Buffer
	info := serializerInfo(t, contentType)
	stream := streaming.NewEncoder(info.StreamSerializer.Framer.NewFrameWriter(&out), info.StreamSerializer.Serializer)
	require.NoError(t, restwatch.NewEncoder(stream, info.Serializer).Encode(&watch.Event{Type: typ, Object: obj}))
	return out.Bytes()
}

func lengthPrefixed(data []byte) []byte {
	n := len(data)
	return append([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, data...)
}
