package sharedinformer

import (
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func podWithVolume(size string) *corev1.Pod {
	limit := quantity.MustParse(size)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "shop"}, CreationTimestamp: metav1.Unix(1, 0)},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}},
			Containers: []corev1.Container{{LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("http")},
			}}}},
		},
	}
}

func TestIsSameState_TellsApartWhatDeepEqualDoes(t *testing.T) {
	for name, change := range map[string]func(pod *corev1.Pod){
		"nothing":                      func(*corev1.Pod) {},
		"a string":                     func(p *corev1.Pod) { p.Name = "b" },
		"an entry of a map":            func(p *corev1.Pod) { p.Labels["app"] = "bank" },
		"another entry":                func(p *corev1.Pod) { p.Labels = map[string]string{"app2": "shop"} },
		"a map that is nil":            func(p *corev1.Pod) { p.Labels = nil },
		"a map that is empty, not nil": func(p *corev1.Pod) { p.Annotations = map[string]string{} },
		"a slice that is nil":          func(p *corev1.Pod) { p.Spec.Volumes = nil },
		"an empty slice, not nil":      func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{} },
		"a pointer that is nil":        func(p *corev1.Pod) { p.Spec.Volumes[0].EmptyDir = nil },
		"a quantity":                   func(p *corev1.Pod) { *p.Spec.Volumes[0].EmptyDir.SizeLimit = quantity.MustParse("2Gi") },
		"a quantity that is very large": func(p *corev1.Pod) {
			*p.Spec.Volumes[0].EmptyDir.SizeLimit = quantity.MustParse("12345678901234567890123456789")
		},
		"a time":          func(p *corev1.Pod) { p.CreationTimestamp = metav1.Unix(2, 0) },
		"a number":        func(p *corev1.Pod) { p.Generation++ },
		"a thing within":  func(p *corev1.Pod) { p.Spec.Containers[0].LivenessProbe.HTTPGet.Port = intstr.FromInt32(1) },
		"a further thing": func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{}) },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := podWithVolume("1Gi"), podWithVolume("1Gi")
			change(b)
			require.Equal(t, reflect.DeepEqual(a, b), isSameState(a, b))
		})
	}
	tree := func(leaf any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"list": []any{leaf, nil}}}}
	}
	require.True(t, isSameState(tree("1"), tree("1")))
	require.False(t, isSameState(tree("1"), tree(int64(1))))
	require.False(t, isSameState(tree("1"), tree(nil)))
}

// linked is an object as a transform makes it that links parent and child.
type linked struct {
	Name string
	Next *linked
}

func TestIsSameState_EndsOnACycle(t *testing.T) {
	cycle := func() *linked {
		parent := &linked{Name: "parent"}
		parent.Next = &linked{Name: "child", Next: parent}
		return parent
	}
	a := cycle()
	require.True(t, isSameState(a, a))
	require.True(t, isSameState(a, cycle()))
}

func TestIsSameState_SeesToTheEndOfWhatIsDeepButEnds(t *testing.T) {
	chain := func(last string) *linked {
		head := &linked{Name: last}
		for range 400 {
			head = &linked{Next: head}
		}
		return head
	}
	require.True(t, isSameState(chain("a"), chain("a")))
	require.False(t, isSameState(chain("a"), chain("b")))
}

// The race detector is the judge of this: handlers print the objects that they share with the store.
func TestIsSameState_MayLookWhileAHandlerPrintsAQuantity(t *testing.T) {
	stored, listed := podWithVolume("1Gi"), podWithVolume("1Gi")
	var handler sync.WaitGroup
	handler.Go(func() { require.Equal(t, "1Gi", stored.Spec.Volumes[0].EmptyDir.SizeLimit.String()) })
	require.True(t, isSameState(stored, listed))
	handler.Wait()
	require.True(t, isSameState(stored, listed), "printed and unprinted are the same state")
}
