package undecoded

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
)

// family decodes pods that are equal but for their names.
func family(t require.TestingT, s *Sharing, count int) (pods []*corev1.Pod) {
	for n := range count {
		data, err := (&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", n), Labels: map[string]string{"app": "shop"}},
			Spec: corev1.PodSpec{
				Containers:   []corev1.Container{{Name: "shop", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}}},
				NodeSelector: map[string]string{"disk": "fast"},
				Affinity:     &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
			},
		}).Marshal()
		require.NoError(t, err)
		pod := &corev1.Pod{}
		require.NoError(t, s.Unmarshal(data, pod))
		pods = append(pods, pod)
	}
	return pods
}

func TestSharing_SaysWhetherObjectsMayShare(t *testing.T) {
	s := NewSharing()
	require.False(t, s.HasShared())
	pods := family(t, s, 20)
	require.True(t, s.HasShared())
	require.Same(t, &pods[18].Spec.Containers[0], &pods[19].Spec.Containers[0])
}

// writes to what pods share, each at another depth.
var writes = []func(pod *corev1.Pod){
	func(p *corev1.Pod) { p.Labels["app"] = "bar" },
	func(p *corev1.Pod) { delete(p.Spec.NodeSelector, "disk") },
	func(p *corev1.Pod) { p.Spec.Containers[0].Env[0].Value = "2" },
	func(p *corev1.Pod) { p.Spec.Containers[0].Name = "bar" },
	func(p *corev1.Pod) { p.Spec.Affinity.NodeAffinity = nil },
}

// One write to a shared part by any of the objects is found, and what is decoded later does not have it. What is set in
// an object's own struct is no such write.
func TestSharing_FindsEachWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSharing()
		s.Guard(true)
		pods := family(t, s, 20)
		for n, pod := range pods {
			pod.Name, pod.Spec.NodeName, pod.Spec.Volumes = "mine", fmt.Sprint(n), nil
		}
		write := rapid.SampledFrom(append(writes, nil)).Draw(t, "write")
		if write == nil {
			require.True(t, s.Intact())
			return
		}
		writer := pods[rapid.IntRange(15, 19).Draw(t, "writer")]
		write(writer)
		require.False(t, s.Intact())
		require.True(t, s.Intact(), "what it has looked at is forgotten")
		s.Renew()
		for _, pod := range family(t, s, 20) {
			require.Equal(t, "shop", pod.Labels["app"])
			require.Equal(t, map[string]string{"disk": "fast"}, pod.Spec.NodeSelector)
			require.Equal(t, "1", pod.Spec.Containers[0].Env[0].Value)
			require.Equal(t, "shop", pod.Spec.Containers[0].Name)
			require.NotNil(t, pod.Spec.Affinity.NodeAffinity)
		}
	})
}

func TestSharing_GuardsNothingUnlessItIsAskedTo(t *testing.T) {
	s := NewSharing()
	family(t, s, 20)
	require.Empty(t, s.guarded)
	s.Renew()
	s.Guard(true)
	family(t, s, 20)
	require.NotEmpty(t, s.guarded)
	s.Guard(false)
	require.Empty(t, s.guarded)
}

// A part of which there is no JSON counts as written to.
func TestSharing_DoesNotCallIntactWhatItCannotRead(t *testing.T) {
	s := NewSharing()
	s.Guard(true)
	data, err := (&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte("spec: {}")}}).Marshal()
	require.NoError(t, err)
	for range 20 {
		require.NoError(t, s.Unmarshal(data, &appsv1.ControllerRevision{}))
	}
	require.False(t, s.Intact())
}

func TestSharing_KeepsNoManagedFields(t *testing.T) {
	s := NewSharing()
	s.Guard(true)
	for n := range 20 {
		data, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(n), ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kubelet", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`)},
		}}}).Marshal()
		require.NoError(t, err)
		require.NoError(t, s.Unmarshal(data, &corev1.ConfigMap{}))
	}
	require.True(t, s.HasShared())
	for _, kept := range s.guarded {
		require.NotContains(t, fmt.Sprintf("%T", kept.part), "anaged")
		require.NotContains(t, fmt.Sprintf("%T", kept.part), "FieldsV1")
	}
}
