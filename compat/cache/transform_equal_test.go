package cache

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"glasswatch/listwatch/memo/memotest"
)

func TestEqualParts_IsDeepEqual(t *testing.T) {
	changes := map[string]func(p *corev1.Pod){
		"nothing":           func(*corev1.Pod) {},
		"a string":          func(p *corev1.Pod) { p.Spec.Containers[1].Name = "x" },
		"a number":          func(p *corev1.Pod) { *p.Spec.Priority++ },
		"a bool":            func(p *corev1.Pod) { p.Spec.Containers[0].TTY = true },
		"a port":            func(p *corev1.Pod) { p.Spec.Containers[0].LivenessProbe.HTTPGet.Port = intstr.FromString("8080") },
		"a pointer to nil":  func(p *corev1.Pod) { p.Spec.SecurityContext = nil },
		"nil to a pointer":  func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{} },
		"nil to a slice":    func(p *corev1.Pod) { p.Spec.HostAliases = []corev1.HostAlias{} },
		"a slice to nil":    func(p *corev1.Pod) { p.Spec.Tolerations = nil },
		"one more":          func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, "x") },
		"nil to a map":      func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{} },
		"an entry":          func(p *corev1.Pod) { p.Labels["app"] = "x" },
		"another entry":     func(p *corev1.Pod) { delete(p.Labels, "app"); p.Labels["x"] = "" },
		"a time":            func(p *corev1.Pod) { p.Status.StartTime.Time = p.Status.StartTime.Add(1) },
		"a zone":            func(p *corev1.Pod) { p.Status.StartTime.Time = p.Status.StartTime.In(time.FixedZone("x", 60)) },
		"a quantity":        func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("7") },
		"bytes":             func(p *corev1.Pod) { p.ManagedFields[2].FieldsV1 = metav1.NewFieldsV1(`{"f:x":{}}`) },
		"no managed fields": func(p *corev1.Pod) { p.ManagedFields[0].FieldsV1 = nil },
	}
	for name, change := range changes {
		a, b := memotest.Pod(1), memotest.Pod(1)
		require.True(t, equalParts(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()), name)
		change(b)
		want := reflect.DeepEqual(a, b)
		require.Equal(t, name == "nothing", want, name)
		require.Equal(t, want, equalParts(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()), name)
		require.Equal(t, want, equalParts(reflect.ValueOf(b).Elem(), reflect.ValueOf(a).Elem()), name)
	}
}
