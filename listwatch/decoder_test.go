package listwatch

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/listwatch/memo"
	"glasswatch/listwatch/wire"
)

// sameServices are services that differ in their names.
func sameServices(count int) []*corev1.Service {
	var all []*corev1.Service
	for n := range count {
		svc := serviceV1(string(rune('a'+n)), "5")
		svc.Labels = map[string]string{"app": "shop"}
		all = append(all, svc)
	}
	return all
}

func clusterIPOf(svc *corev1.Service) *byte { return unsafe.StringData(svc.Spec.ClusterIP) }

func TestDecoder_SharesPartsOfListsAndWatches(t *testing.T) {
	listed := sameServices(4)
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := encode(t, protoType, serviceList("9", listed...))
		if r.URL.Query().Get("watch") != "" {
			body = slices.Concat(encodeEvent(t, protoType, watch.Added, listed[0]), encodeRaw(t, protoType, "ADDED", []byte("garbage")),
				encodeEvent(t, protoType, watch.Added, listed[1]))
		}
		answer(protoType, body)(w, r)
	}))
	plain := servicesOf(t, cfg, Options{Namespace: "shop"})
	shared := servicesOf(t, cfg, Options{Namespace: "shop", Decoder: memo.New(memo.Options{})})

	want, err := plain.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	got, err := shared.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NotSame(t, clusterIPOf(want.Items[2]), clusterIPOf(want.Items[3]), "a client shares nothing unless it is asked to")
	require.Same(t, clusterIPOf(got.Items[2]), clusterIPOf(got.Items[3]))
	require.Same(t, &got.Items[2].Spec.Ports[0], &got.Items[3].Spec.Ports[0])

	stream, err := shared.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer stream.Close()
	first, err := stream.Next()
	require.NoError(t, err)
	_, err = stream.Next()
	require.ErrorAs(t, err, new(*ObjectError))
	second, err := stream.Next()
	require.NoError(t, err)
	require.Same(t, clusterIPOf(got.Items[3]), clusterIPOf(first.Object))
	require.Same(t, clusterIPOf(got.Items[3]), clusterIPOf(second.Object))
}

func TestDecoder_SharesPartsOfMetadata(t *testing.T) {
	cfg := serve(t, answer(protoType, encode(t, protoType, serviceList("9", sameServices(4)...))))
	metadata, err := NewMetadata(cfg, servicesGVR, Options{Decoder: memo.New(memo.Options{})})
	require.NoError(t, err)
	list, err := metadata.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 4)
	require.Same(t, unsafe.StringData(list.Items[2].Namespace), unsafe.StringData(list.Items[3].Namespace))
}

// failing is a decoder that decodes nothing.
type failing struct{}

func (failing) Unmarshal([]byte, wire.Message) error { return errors.New("not by me") }

func TestDecoder_IsForProtobufOnlyAndItsErrorsCostOneObject(t *testing.T) {
	for contentType, bad := range map[string]int{jsonType: 0, protoType: 2} {
		cfg := serve(t, answer(contentType, encode(t, contentType, serviceList("9", sameServices(2)...))))
		list, err := servicesOf(t, cfg, Options{Decoder: failing{}}).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Bad, bad, contentType)
		require.Len(t, list.Items, 2-bad, contentType)
		for _, err := range list.Bad {
			require.ErrorContains(t, err, "not by me")
			require.Equal(t, "shop", err.Key.Namespace)
		}
	}
}
