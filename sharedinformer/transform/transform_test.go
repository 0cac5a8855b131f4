package transform

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Two pods of one image, as an informer with this transform would cache them.
func Example() {
	small := Share(StripManagedFields[*corev1.Pod], KeepAnnotations[*corev1.Pod]("team"))
	decoded := func(name string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name:          name,
				Annotations:   map[string]string{"team": "blue", "checksum": "0815"},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
		}
	}
	a, _ := small(decoded("a"))
	b, _ := small(decoded("b"))
	fmt.Println(a.Name, a.Annotations, len(a.ManagedFields))
	fmt.Println(b.Name, b.Annotations, len(b.ManagedFields))
	fmt.Println("one slice of containers:", &a.Spec.Containers[0] == &b.Spec.Containers[0])
	// Output:
	// a map[team:blue] 0
	// b map[team:blue] 0
	// one slice of containers: true
}

func TestChain_CallsInOrderAndStopsAtTheFirstError(t *testing.T) {
	failed := errors.New("no")
	add := func(s string) func(*string) (*string, error) {
		return func(to *string) (*string, error) { *to += s; return to, nil }
	}
	var out string
	_, err := Chain(add("a"), add("b"))(&out)
	require.NoError(t, err)
	require.Equal(t, "ab", out)
	none, err := Chain(add("c"), func(*string) (*string, error) { return nil, failed }, add("d"))(&out)
	require.ErrorIs(t, err, failed)
	require.Nil(t, none)
	require.Equal(t, "abc", out)
}

func TestStripManagedFields_LeavesOutNothingElse(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{}}}}
	pod, err := StripManagedFields(pod)
	require.NoError(t, err)
	require.Equal(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, pod)

	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a", "managedFields": []any{}}}}
	u, err = StripManagedFields(u)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"metadata": map[string]any{"name": "a"}}, u.Object)
}

func TestKeepAnnotations_KeepsTheNamed(t *testing.T) {
	for _, c := range []struct {
		names       []string
		given, want map[string]string
	}{
		{[]string{"a", "x"}, map[string]string{"a": "1", "b": "2"}, map[string]string{"a": "1"}},
		{[]string{"x"}, map[string]string{"a": "1"}, nil},
		{nil, map[string]string{"a": "1"}, nil},
		{[]string{"a"}, nil, nil},
	} {
		pod, err := KeepAnnotations[*corev1.Pod](c.names...)(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: c.given}})
		require.NoError(t, err)
		require.Equal(t, c.want, pod.Annotations)
	}
}
