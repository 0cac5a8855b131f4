package listwatch

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// widget is a custom resource with a Go type of its own.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Size              int `json:"size"`
}

func (w *widget) DeepCopyObject() runtime.Object {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func TestClient_CustomGoType(t *testing.T) {
	gvr := schema.GroupVersionResource{Group: "shop.example", Version: "v1", Resource: "widgets"}
	types := runtime.NewScheme()
	types.AddKnownTypeWithName(gvr.GroupVersion().WithKind("Widget"), &widget{})
	cfg := serve(t, answer(jsonType, []byte(`{"apiVersion":"shop.example/v1","kind":"WidgetList","metadata":{"resourceVersion":"9"},"items":[
		{"apiVersion":"shop.example/v1","kind":"Widget","metadata":{"name":"a"},"size":3}]}`)))
	client, err := NewForConfig[*widget](cfg, gvr, Options{Scheme: types})
	require.NoError(t, err)
	list, err := client.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Bad)
	assert.Equal(t, 3, list.Items[0].Size)
	// Should such a type be sent as protobuf after all, that is an error and no panic.
	_, err = client.codec.decode(protobufObject(t, "", "", ""), "")
	assert.ErrorContains(t, err, "cannot be decoded from protobuf")
}

func TestUnstructured_KeepsKindAndChecksIt(t *testing.T) {
	gvr := schema.GroupVersionResource{Group: "shop.example", Version: "v1", Resource: "widgets"}
	item := func(apiVersion, kind, name string) string {
		return `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"` + name + `","resourceVersion":"5"},"size":3}`
	}
	list := `{"apiVersion":"shop.example/v1","kind":"WidgetList","metadata":{"resourceVersion":"9"},"items":[` +
		item("shop.example/v1", "Widget", "a") + `,` + item("shop.example/v1", "Gadget", "b") + `,` + item("v1", "Service", "c") + `,{"metadata":{"name":"d"}},{},null,{"metadata":{"namespace":5,"name":"e"}},{"metadata":{"namespace":null,"name":"f"}}]}`
	frame := `{"type":"ADDED","object":` + item("shop.example/v1", "Gadget", "b") + `}{"type":"DELETED","object":` + item("shop.example/v1", "Widget", "a") + `}`
	var asked requests
	cfg := serve(t, asked.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		body := list
		if r.URL.Query().Get("watch") == "true" {
			body = frame
		}
		_, _ = w.Write([]byte(body))
	})))

	client, err := NewUnstructured(cfg, gvr, Options{Kind: "Widget"})
	require.NoError(t, err)
	got, err := client.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, jsonType, asked.last().Header.Get("Accept"))
	require.Len(t, got.Items, 3)
	assert.Equal(t, "f", got.Items[2].GetName(), "null is no namespace")
	assert.Equal(t, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "shop.example/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "a", "resourceVersion": "5"}, "size": int64(3)}}, got.Items[0])
	assert.Equal(t, gvr.GroupVersion().WithKind("Widget"), got.Items[1].GroupVersionKind(), "filled in from the list")
	assert.Equal(t, []string{
		`unreadable object "b" at resourceVersion 5: the object is a shop.example/v1 Gadget, not a shop.example/v1 Widget`,
		`unreadable object "c" at resourceVersion 5: the object is a v1 Service, not a shop.example/v1 Widget`,
		`unreadable object of unknown name: the object has no name`,
		`unreadable object of unknown name: the object has no name`,
		`unreadable object of unknown name: the namespace is 5, expected a string`,
	}, textOf(got.Bad), "half a key would name another object")

	stream, err := client.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer stream.Close()
	_, err = stream.Next()
	assert.ErrorContains(t, err, `unreadable ADDED event "b"`)
	ev, err := stream.Next()
	require.NoError(t, err)
	assert.Equal(t, "a", ev.Object.GetName())

	// Without Options.Kind any kind of the group and version will do.
	anyKind, err := NewUnstructured(cfg, gvr, Options{})
	require.NoError(t, err)
	got, err = anyKind.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"/a", "/b", "/d", "/f"}, keysOf(got.Items))
	assert.Equal(t, "Widget", got.Items[2].GetKind())

	other, err := NewUnstructured(cfg, servicesGVR, Options{})
	require.NoError(t, err)
	_, err = other.List(t.Context(), metav1.ListOptions{})
	assert.ErrorContains(t, err, "answered with a shop.example/v1 WidgetList, not with a list of a v1")
}

func TestMetadata_ReadsPartialAndWholeObjects(t *testing.T) {
	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}, ObjectMeta: serviceV1("cart", "5").ObjectMeta}
	partials := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []metav1.PartialObjectMetadata{*partial}}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: partial.ObjectMeta}
	types := runtime.NewScheme()
	require.NoError(t, metav1.AddMetaToScheme(types))
	for _, contentType := range bothTypes {
		for _, tc := range []struct {
			name string
			list runtime.Object
			item runtime.Object
		}{{"partial", partials, partial}, {"whole", serviceList("9", serviceV1("cart", "5")), serviceV1("cart", "5")}} {
			t.Run(contentType+" "+tc.name, func(t *testing.T) {
				var asked requests
				list, frame := encode(t, contentType, tc.list), encodeEvent(t, contentType, watch.Modified, tc.item)
				frame = append(frame, encodeRaw(t, contentType, "ADDED", encode(t, contentType, &appsv1.Deployment{
					TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: pod.ObjectMeta}))...)
				cfg := serve(t, asked.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", contentType)
					body := list
					if r.URL.Query().Get("watch") == "true" {
						body = frame
					}
					_, _ = w.Write(body)
				})))
				client, err := NewMetadata(cfg, servicesGVR, Options{})
				require.NoError(t, err)
				got, err := client.List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				assert.Equal(t, "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1;q=0.9, application/json;q=0.8",
					asked.last().Header.Get("Accept"))
				require.Empty(t, got.Bad)
				assert.Equal(t, []*metav1.PartialObjectMetadata{{ObjectMeta: partial.ObjectMeta}}, got.Items)

				stream, err := client.Watch(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				defer stream.Close()
				assert.Contains(t, asked.last().Header.Get("Accept"), "protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, ")
				ev, err := stream.Next()
				require.NoError(t, err)
				assert.Equal(t, Event[*metav1.PartialObjectMetadata]{Type: Modified, Object: &metav1.PartialObjectMetadata{ObjectMeta: partial.ObjectMeta}, ResourceVersion: "5"}, ev)
				_, err = stream.Next()
				assert.ErrorContains(t, err, "the object is a apps/v1 Deployment, not the metadata of a v1 object")
			})
		}
	}
	c := newMetadataCodec(corev1.SchemeGroupVersion, true)
	_, object, err := asJSON.Event([]byte(`{"type":"ADDED","object":{"metadata":7}}`))
	require.NoError(t, err)
	_, err = c.decode(object, "")
	assert.Error(t, err)
	_, err = c.decode(protobufObject(t, "", "", "\xff"), "")
	assert.Error(t, err)
	assert.Error(t, c.checkList(metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DeploymentList"}))
}
