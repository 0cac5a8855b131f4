package listwatch

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
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

func TestSharing_PartsOfListsAndWatchesAreOne(t *testing.T) {
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
	shared, ok := SharingOf[*corev1.Service](plain, nil)
	require.True(t, ok)
	require.Equal(t, plain.Source(), SourceOf(shared))

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

func TestSharing_GivesOtherObjectsToShareOnce(t *testing.T) {
	refused := errors.New("not this one")
	for _, contentType := range bothTypes {
		t.Run(contentType, func(t *testing.T) {
			var given []string
			share := func(svc *corev1.Service) (*corev1.Service, error) {
				given = append(given, svc.Name)
				if svc.Name == "b" {
					return nil, refused
				}
				return svc, nil
			}
			cfg := serve(t, answer(contentType, encode(t, contentType, serviceList("9", sameServices(3)...))))
			list, err := servicesOf(t, cfg, Options{}).Sharing(share).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			if contentType == protoType {
				require.Empty(t, given, "what was decoded with the memo must not be shared once more")
				require.Len(t, list.Items, 3)
				return
			}
			require.Equal(t, []string{"a", "b", "c"}, given)
			require.Len(t, list.Items, 2)
			require.Len(t, list.Bad, 1)
			require.ErrorIs(t, list.Bad[0], refused)
			require.Equal(t, "b", list.Bad[0].Key.Name)
		})
	}
}

func TestSharing_WorksForUnstructuredObjectsAndMetadata(t *testing.T) {
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "services"}
	cfg := serve(t, answer(jsonType, encode(t, jsonType, serviceList("9", sameServices(3)...))))
	custom, err := NewUnstructured(cfg, gvr, Options{})
	require.NoError(t, err)
	shared := 0
	list, err := custom.Sharing(func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) { shared++; return u, nil }).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, 3, len(list.Items))
	require.Equal(t, 3, shared)

	for _, contentType := range bothTypes {
		cfg := serve(t, answer(contentType, encode(t, contentType, serviceList("9", sameServices(4)...))))
		metadata, err := NewMetadata(cfg, gvr, Options{})
		require.NoError(t, err)
		shared := 0
		list, err := metadata.Sharing(func(m *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) { shared++; return m, nil }).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 4)
		if contentType == jsonType {
			require.Equal(t, 4, shared)
			continue
		}
		require.Zero(t, shared)
		require.Same(t, unsafe.StringData(list.Items[2].Namespace), unsafe.StringData(list.Items[3].Namespace))
	}
}

func TestSharingOf_LeavesOtherListerWatchersAlone(t *testing.T) {
	lw := Funcs[*corev1.Service]{}
	_, ok := SharingOf[*corev1.Service](lw, nil)
	require.False(t, ok)
}

// ownLists has a Client's methods, and a List of its own.
type ownLists struct{ *Client[*corev1.ConfigMap] }

func (ownLists) List(context.Context, metav1.ListOptions) (*List[*corev1.ConfigMap], error) {
	return &List[*corev1.ConfigMap]{ResourceVersion: "own"}, nil
}

func TestSharingOf_DoesNotGoAroundWhoEmbedsAClient(t *testing.T) {
	client, err := NewForConfig[*corev1.ConfigMap](&rest.Config{Host: "http://none"}, corev1.SchemeGroupVersion.WithResource("configmaps"), Options{})
	require.NoError(t, err)
	lw, ok := SharingOf[*corev1.ConfigMap](ownLists{client}, nil)
	require.False(t, ok)
	list, err := lw.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "own", list.ResourceVersion)
}
