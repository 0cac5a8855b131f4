package cache

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// mold is what the pods of these tests share: all but their names.
var mold = corev1.Pod{
	ObjectMeta: metav1.ObjectMeta{
		Labels:          map[string]string{"app": "shop"},
		Annotations:     map[string]string{"note": "short"},
		Finalizers:      []string{"example.com/wait"},
		OwnerReferences: []metav1.OwnerReference{{Name: "shop-1", Controller: new(bool)}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1("{}")}},
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

// Each transform changes what its object holds, as deep as it likes.
var transforms = map[string]func(pod *corev1.Pod){
	"none":                       func(*corev1.Pod) {},
	"no managed fields":          func(p *corev1.Pod) { p.ManagedFields = nil },
	"no manager":                 func(p *corev1.Pod) { p.ManagedFields[0].Manager = "" },
	"another label":              func(p *corev1.Pod) { p.Labels["seen"] = "yes" },
	"no annotation":              func(p *corev1.Pod) { delete(p.Annotations, "note") },
	"another owner":              func(p *corev1.Pod) { p.OwnerReferences[0].Name = "other" },
	"no containers":              func(p *corev1.Pod) { p.Spec.Containers = nil },
	"a node":                     func(p *corev1.Pod) { p.Spec.NodeName = "n" },
	"a printed quantity":         func(p *corev1.Pod) { _ = p.Spec.Volumes[0].EmptyDir.SizeLimit.String() },
	"no environment":             func(p *corev1.Pod) { p.Spec.Containers[0].Env = nil },
	"no node selector's entry":   func(p *corev1.Pod) { delete(p.Spec.NodeSelector, "disk") },
	"a byte of managed fields":   func(p *corev1.Pod) { p.ManagedFields[0].FieldsV1.GetRawBytes()[0] = 'x' },
	"an owner's controller flag": func(p *corev1.Pod) { *p.OwnerReferences[0].Controller = true },
	"an empty slice":             func(p *corev1.Pod) { p.Finalizers = []string{} },
}

func TestTransformPrivately_ChangesOneObjectOnly(t *testing.T) {
	for name, transform := range transforms {
		t.Run(name, func(t *testing.T) {
			original := mold.DeepCopy()
			pods := pour(3, original)
			want := pods[1].DeepCopy()
			transform(want)
			got, _, err := transformPrivately(func(obj any) (any, error) {
				transform(obj.(*corev1.Pod))
				return obj, nil
			}, pods[1])
			require.NoError(t, err)
			require.True(t, equality.Semantic.DeepEqual(want, got), "%v", got)
			require.Equal(t, &mold, original)
		})
	}
}

// Changed metadata are no news: they are the object's own. What is below fields of parts is left to the guard.
func TestTransformItself_SaysWhatMayHaveLeftTheObject(t *testing.T) {
	for name, transform := range transforms {
		t.Run(name, func(t *testing.T) {
			original := mold.DeepCopy()
			pods := pour(3, original)
			_, changed, err := transformItself(func(obj any) (any, error) {
				transform(obj.(*corev1.Pod))
				return obj, nil
			}, pods[1])
			require.NoError(t, err)
			require.Equal(t, name == "no containers" || name == "a node", changed)
			require.Equal(t, mold.ObjectMeta, original.ObjectMeta)
		})
	}
}

func TestTransformItself_OfAnotherObjectOrNoneNothingIsKnown(t *testing.T) {
	for _, err := range []error{nil, errors.New("no")} {
		out, changed, got := transformItself(func(any) (any, error) { return nil, err }, mold.DeepCopy())
		require.Nil(t, out)
		require.True(t, changed)
		require.Equal(t, err, got)
	}
}

func TestSameFields_FindsEachField(t *testing.T) {
	var pod, other corev1.Pod
	require.True(t, sameFields(reflect.ValueOf(&pod).Elem(), reflect.ValueOf(&other).Elem(), true))
	for _, change := range []func(){
		func() { other.Kind = "Pod" },
		func() { other.Spec.Containers = []corev1.Container{} },
		func() { other.Spec.NodeSelector = map[string]string{} },
		func() { other.Spec.Affinity = &corev1.Affinity{} },
		func() { other.Spec.HostNetwork = true },
		func() { other.Status.Phase = corev1.PodFailed },
		func() { other.Spec.Volumes = make([]corev1.Volume, 2)[:1] },
	} {
		other = pod
		change()
		require.False(t, sameFields(reflect.ValueOf(&pod).Elem(), reflect.ValueOf(&other).Elem(), true))
		pod = other
	}
	template, changed := appsv1.Deployment{}, appsv1.Deployment{}
	changed.Name = "b"
	require.True(t, sameFields(reflect.ValueOf(&template).Elem(), reflect.ValueOf(&changed).Elem(), true))
	changed.Spec.Template.Name = "b"
	require.False(t, sameFields(reflect.ValueOf(&template).Elem(), reflect.ValueOf(&changed).Elem(), true))
	other.Spec.Volumes = other.Spec.Volumes[:2]
	require.False(t, sameFields(reflect.ValueOf(&pod).Elem(), reflect.ValueOf(&other).Elem(), true))
}

func TestTransformPrivately_WhatIsEqualIsSharedAgain(t *testing.T) {
	original := mold.DeepCopy()
	pod := pour(1, original)[0]
	got, _, err := transformPrivately(func(obj any) (any, error) {
		p := obj.(*corev1.Pod)
		p.ManagedFields = nil
		p.Labels["seen"] = "yes"
		delete(p.Labels, "seen")
		p.Annotations["note"] = "longer"
		p.Spec.NodeSelector["disk"] = "slow"
		return p, nil
	}, pod)
	require.NoError(t, err)
	p := got.(*corev1.Pod)
	require.NotSame(t, pod, p)
	p.Labels["mark"] = "x" // shows whose map it is
	require.Contains(t, original.Labels, "mark")
	require.Same(t, &original.Finalizers[0], &p.Finalizers[0])
	require.Same(t, &original.OwnerReferences[0], &p.OwnerReferences[0])
	require.Same(t, &original.Spec.Containers[0], &p.Spec.Containers[0])
	require.Nil(t, p.ManagedFields)
	require.Equal(t, "longer", p.Annotations["note"])
	require.Equal(t, "short", original.Annotations["note"])
	require.Equal(t, "slow", p.Spec.NodeSelector["disk"])
}

// What a transform has taken from elsewhere may be read by others at the same time. So it is never written to.
func TestTransformPrivately_DoesNotWriteToWhatTheTransformBrings(t *testing.T) {
	original := mold.DeepCopy()
	kept := mold.DeepCopy() // such as an object that the store has already
	own := kept.Spec.Containers
	got, _, err := transformPrivately(func(any) (any, error) { return kept, nil }, original)
	require.NoError(t, err)
	require.Same(t, kept, got)
	require.Same(t, &own[0], &kept.Spec.Containers[0])

	affinity := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{},
	}}
	original.Spec.Affinity = affinity.DeepCopy()
	original.Spec.Affinity.PodAffinity = &corev1.PodAffinity{}
	required := affinity.NodeAffinity
	got, _, err = transformPrivately(func(obj any) (any, error) {
		obj.(*corev1.Pod).Spec.Affinity = affinity
		return obj, nil
	}, original)
	require.NoError(t, err)
	require.Same(t, affinity, got.(*corev1.Pod).Spec.Affinity)
	require.Same(t, required, affinity.NodeAffinity)
}

func TestTransformPrivately_PassesOnWhatTheTransformReturns(t *testing.T) {
	_, _, err := transformPrivately(func(any) (any, error) { return nil, errors.New("no") }, mold.DeepCopy())
	require.EqualError(t, err, "no")
	for _, other := range []any{&corev1.ConfigMap{}, (*corev1.Pod)(nil), map[string]int{}, nil} {
		got, _, err := transformPrivately(func(any) (any, error) { return other, nil }, mold.DeepCopy())
		require.NoError(t, err)
		require.Equal(t, other, got)
	}
}

// An informer that gets its objects from client-go's decoder has nothing to share, and copies nothing.
func TestUndecoded_TransformsGetTheObjectsThatClosuresHaveDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw, watches := streaming()
		informer := NewSharedIndexInformer(deaf(lw), &corev1.ConfigMap{}, 0, nil)
		var seen []any
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			seen = append(seen, obj)
			return obj, nil
		}))
		defer running(informer.RunWithContext)()
		w, first, later := <-watches, configMap("a", "1"), configMap("b", "2")
		w.Add(first)
		w.Action(watch.Bookmark, initialEventsEnd("1"))
		w.Add(later)
		synctest.Wait()
		require.Len(t, seen, 2)
		require.Same(t, first, seen[0])
		require.Same(t, later, seen[1])
	})
}
