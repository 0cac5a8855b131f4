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

// A pod as an informer with this transform would cache it.
func Example() {
	small := Chain(StripManagedFields[*corev1.Pod], KeepAnnotations[*corev1.Pod]("team"))
	pod, _ := small(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:          "a",
		Annotations:   map[string]string{"team": "blue", "checksum": "0815"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
	}})
	fmt.Println(pod.Name, pod.Annotations, len(pod.ManagedFields))
	// Output:
	// a map[team:blue] 0
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
