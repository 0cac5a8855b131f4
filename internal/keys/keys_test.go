package keys

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

func TestCompare_NamespacesComeBeforeNames(t *testing.T) {
	var want []listwatch.Key
	var pods []*corev1.Pod
	for _, k := range []listwatch.Key{{Name: "z"}, {Namespace: "a", Name: "b"}, {Namespace: "a", Name: "c"}, {Namespace: "b", Name: "a"}} {
		want = append(want, k)
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name}})
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Compare)
	assert.Equal(t, want, got)
	assert.True(t, slices.IsSortedFunc(pods, CompareObjects))
	assert.False(t, slices.IsSortedFunc([]*corev1.Pod{pods[1], pods[0]}, CompareObjects))
}
