package cache

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mold is what the pods of these tests share: all but their names.
var mold = corev1.Pod{
	ObjectMeta: metav1.ObjectMeta{
		Labels:          map[string]string{"app": "shop"},
		Annotations:     map[string]string{"note": "short"},
		Finalizers:      []string{"example.com/wait"},
		OwnerReferences: []metav1.OwnerReference{{Name: "shop-1", Controller: new(bool)}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: &metav1.FieldsV1{Raw: []byte("{}")}}},
	},
	Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "shop", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}}},
		Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(1<<30, resource.BinarySI)},
		}}},
		NodeSelector: map[string]string{"disk": "fast"},
	},
}

// pour returns n pods that share all parts of from.
func pour(n int, from *corev1.Pod) (pods []*corev1.Pod) {
	for i := range n {
		pod := *from
		pod.Name = fmt.Sprint("pod-", i)
		pods = append(pods, &pod)
	}
	return pods
}

type quiet struct{ stopped int }

func (q *quiet) transform() *sharedTransform {
	return &sharedTransform{informer: "pods", stopSharing: func() { q.stopped++ }}
}

// Each transform changes what its object holds, as far as it says, and nothing of other objects.
var transforms = map[string]struct {
	transform func(pod *corev1.Pod)
	deep      bool // it writes to parts that are shared
}{
	"none":                       {func(*corev1.Pod) {}, false},
	"no managed fields":          {func(p *corev1.Pod) { p.ManagedFields = nil }, false},
	"no manager":                 {func(p *corev1.Pod) { p.ManagedFields[0].Manager = "" }, false},
	"another label":              {func(p *corev1.Pod) { p.Labels["seen"] = "yes" }, false},
	"no annotation":              {func(p *corev1.Pod) { delete(p.Annotations, "note") }, false},
	"another owner":              {func(p *corev1.Pod) { p.OwnerReferences[0].Name = "other" }, false},
	"no containers":              {func(p *corev1.Pod) { p.Spec.Containers = nil }, false},
	"a node":                     {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, false},
	"a printed quantity":         {func(p *corev1.Pod) { _ = p.Spec.Volumes[0].EmptyDir.SizeLimit.String() }, false},
	"no environment":             {func(p *corev1.Pod) { p.Spec.Containers[0].Env = nil }, true},
	"no node selector's entry":   {func(p *corev1.Pod) { delete(p.Spec.NodeSelector, "disk") }, true},
	"a byte of managed fields":   {func(p *corev1.Pod) { p.ManagedFields[0].FieldsV1.Raw[0] = 'x' }, true},
	"an owner's controller flag": {func(p *corev1.Pod) { *p.OwnerReferences[0].Controller = true }, true},
}

func TestSharedTransform_ChangesOneObjectOnly(t *testing.T) {
	for name, c := range transforms {
		t.Run(name, func(t *testing.T) {
			original := mold.DeepCopy()
			pods, q := pour(2*probation+2*checkEvery, original), quiet{}
			shared := q.transform()
			for i, pod := range pods {
				want := pod.DeepCopy()
				c.transform(want)
				got, err := shared.apply(func(obj any) (any, error) {
					c.transform(obj.(*corev1.Pod))
					return obj, nil
				}, pod)
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint("pod-", i), pod.Name)
				require.True(t, equalPods(want, got.(*corev1.Pod)), "pod %d: %v", i, got)
				require.True(t, equalPods(&mold, original), "after pod %d", i)
				if !c.deep && name != "no containers" {
					require.Same(t, &original.Spec.Containers[0], &got.(*corev1.Pod).Spec.Containers[0])
				}
			}
			require.Equal(t, c.deep, q.stopped == 1)
		})
	}
}

func equalPods(a, b *corev1.Pod) bool { return equality.Semantic.DeepEqual(a, b) }

func TestSharedTransform_EqualMetadataIsSharedAgain(t *testing.T) {
	original, q := mold.DeepCopy(), quiet{}
	shared := q.transform()
	for i, pod := range pour(3*probation, original) {
		got, err := shared.apply(func(obj any) (any, error) {
			p := obj.(*corev1.Pod)
			p.Labels["seen"] = "yes"
			delete(p.Labels, "seen")
			p.Annotations["note"] = "longer"
			return p, nil
		}, pod)
		require.NoError(t, err)
		p := got.(*corev1.Pod)
		p.Labels["mark"] = "x" // shows whose map it is
		require.Contains(t, original.Labels, "mark", "pod %d", i)
		delete(p.Labels, "mark")
		require.Same(t, &original.Finalizers[0], &p.Finalizers[0])
		require.Same(t, &original.ManagedFields[0], &p.ManagedFields[0])
		require.Equal(t, "longer", p.Annotations["note"])
		require.Equal(t, "short", original.Annotations["note"])
	}
}

// A transform that begins late is noticed by one of the checks that go on.
func TestSharedTransform_WritesThatBeginLateEndSharing(t *testing.T) {
	q, n := quiet{}, 0
	shared := q.transform()
	strip := func(obj any) (any, error) {
		if n++; n >= 100 {
			delete(obj.(*corev1.Pod).Spec.NodeSelector, "disk")
		}
		return obj, nil
	}
	for range 400 {
		_, err := shared.apply(strip, pour(1, mold.DeepCopy())[0])
		require.NoError(t, err)
	}
	require.Equal(t, 1, q.stopped)
	original := mold.DeepCopy()
	got, err := shared.apply(strip, original)
	require.NoError(t, err)
	require.Empty(t, got.(*corev1.Pod).Spec.NodeSelector)
	require.True(t, equalPods(&mold, original))
}

func TestSharedTransform_PassesOnWhatTheTransformReturns(t *testing.T) {
	q := quiet{}
	shared := q.transform()
	for range 2 * probation {
		_, err := shared.apply(func(any) (any, error) { return nil, errors.New("no") }, mold.DeepCopy())
		require.EqualError(t, err, "no")
		other := &corev1.ConfigMap{}
		got, err := shared.apply(func(any) (any, error) { return other, nil }, mold.DeepCopy())
		require.NoError(t, err)
		require.Same(t, other, got)
		got, err = shared.apply(func(any) (any, error) { return (*corev1.Pod)(nil), nil }, mold.DeepCopy())
		require.NoError(t, err)
		require.Nil(t, got)
	}
}
