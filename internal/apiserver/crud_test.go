package apiserver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/internal/apiserver"
)

func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

func TestServer_AServiceLivesAndDiesInBothEncodings(t *testing.T) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			c := start(t, apiserver.Options{})
			services := c.clientset(contentType).CoreV1().Services("default")

			made, err := services.Create(c.Context(), service("web"), metav1.CreateOptions{})
			require.NoError(t, err)
			require.NotEmpty(t, made.UID)
			require.False(t, made.CreationTimestamp.IsZero())
			require.Equal(t, corev1.ProtocolTCP, made.Spec.Ports[0].Protocol)
			require.Equal(t, corev1.ServiceTypeClusterIP, made.Spec.Type)
			require.NotEmpty(t, made.Spec.ClusterIP)

			_, err = services.Create(c.Context(), service("web"), metav1.CreateOptions{})
			require.True(t, apierrors.IsAlreadyExists(err), "%v", err)

			w, err := services.Watch(c.Context(), metav1.ListOptions{ResourceVersion: made.ResourceVersion})
			require.NoError(t, err)
			defer w.Stop()

			stale := made.DeepCopy()
			made.Labels = map[string]string{"a": "b"}
			updated, err := services.Update(c.Context(), made, metav1.UpdateOptions{})
			require.NoError(t, err)
			require.NotEqual(t, made.ResourceVersion, updated.ResourceVersion)
			stale.Labels = map[string]string{"c": "d"}
			_, err = services.Update(c.Context(), stale, metav1.UpdateOptions{})
			require.True(t, apierrors.IsConflict(err), "%v", err)
			require.ErrorContains(t, err, `Operation cannot be fulfilled on services "web": the object has been modified; please apply your changes to the latest version and try again`)

			list, err := services.List(c.Context(), metav1.ListOptions{LabelSelector: "a=b"})
			require.NoError(t, err)
			require.Len(t, list.Items, 1)
			require.Equal(t, *updated, list.Items[0])

			require.NoError(t, services.Delete(c.Context(), "web", metav1.DeleteOptions{}))
			_, err = services.Get(c.Context(), "web", metav1.GetOptions{})
			require.True(t, apierrors.IsNotFound(err), "%v", err)

			for _, want := range []watch.EventType{watch.Modified, watch.Deleted} {
				select {
				case e := <-w.ResultChan():
					require.Equal(t, want, e.Type)
					require.Equal(t, "b", e.Object.(*corev1.Service).Labels["a"])
				case <-time.After(time.Hour):
					t.Fatalf("no %s event", want)
				}
			}
		})
	}
}
