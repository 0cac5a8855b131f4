package memo

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/extent"
	"glasswatch/listwatch/memo/memotest"
)

// tableOf is the table of config maps.
func tableOf(d *Decoder) *table { return &d.of(reflect.TypeFor[*corev1.ConfigMap]()).table }

func podDecoder() *Decoder { return New(Options{}) }

// decodePods decodes copies of the same bytes often enough that the last two share what can be shared.
func decodePods(t *testing.T, pod *corev1.Pod) (a, b *corev1.Pod) {
	t.Helper()
	d := podDecoder()
	data := encode(pod)
	for range 4 {
		a, b = b, &corev1.Pod{}
		require.NoError(t, d.Unmarshal(data, b))
	}
	return a, b
}

func TestUnmarshal_EqualBytesAreOnePart(t *testing.T) {
	d := podDecoder()
	var pods []*corev1.Pod
	for n := range 20 * memotest.Templates { // often enough that all has been kept
		pod := &corev1.Pod{}
		require.NoError(t, d.Unmarshal(encode(memotest.Pod(n)), pod))
		pods = append(pods, pod)
	}
	a, b := pods[18*memotest.Templates], pods[19*memotest.Templates]
	require.NotEqual(t, a.Name, b.Name)
	require.Equal(t, unsafe.StringData(a.Namespace), unsafe.StringData(b.Namespace))
	require.Equal(t, reflect.ValueOf(a.Labels).UnsafePointer(), reflect.ValueOf(b.Labels).UnsafePointer())
	require.Same(t, &a.OwnerReferences[0], &b.OwnerReferences[0])
	require.Same(t, a.Spec.EnableServiceLinks, b.Spec.EnableServiceLinks)
	require.NotSame(t, &a.Spec.Containers[0], &b.Spec.Containers[0], "the token's volume has another name")
	require.Same(t, &a.Spec.Containers[0].Env[0], &b.Spec.Containers[0].Env[0])
	require.Same(t, a.Spec.Containers[0].LivenessProbe, b.Spec.Containers[0].LivenessProbe)
	require.Equal(t, reflect.ValueOf(a.Spec.Containers[0].Resources.Limits).UnsafePointer(),
		reflect.ValueOf(b.Spec.Containers[1].Resources.Limits).UnsafePointer())
	require.Same(t, a.Spec.Volumes[1].Projected, b.Spec.Volumes[1].Projected)
	require.Same(t, a.ManagedFields[0].FieldsV1, b.ManagedFields[0].FieldsV1)
	require.Equal(t, memotest.Pod(19*memotest.Templates), b)
}

// Most of a pod is found, though no pod is like another.
func TestUnmarshal_FindsMostOfAPod(t *testing.T) {
	d := podDecoder()
	for n := range 3000 {
		require.NoError(t, d.Unmarshal(encode(memotest.Pod(n)), &corev1.Pod{}))
	}
	found := d.stats()
	t.Logf("%+v", found)
	require.Greater(t, float64(found.Found), 0.8*float64(found.Asked))
	require.Positive(t, found.Paused, "names are looked for as if they came again")
}

func TestUnmarshal_AnAppendToASharedSliceDoesNotReachTheOtherObject(t *testing.T) {
	a, b := decodePods(t, memotest.Pod(1))
	require.Same(t, &a.Spec.Tolerations[0], &b.Spec.Tolerations[0])
	first := append(a.Spec.Tolerations, corev1.Toleration{Key: "first"})
	second := append(b.Spec.Tolerations, corev1.Toleration{Key: "second"})
	require.Equal(t, "first", first[2].Key)
	require.Equal(t, "second", second[2].Key)
}

func TestUnmarshal_NoSliceHasRoomBehindItsEnd(t *testing.T) {
	pod := memotest.Pod(1)
	pod.Spec.SecurityContext.SupplementalGroups = []int64{1, 2, 3, 4, 5} // the allocator would have room for six
	require.NoError(t, podDecoder().Unmarshal(encode(pod), pod))
	require.Equal(t, 5, cap(pod.Spec.SecurityContext.SupplementalGroups))
	rng := rand.New(rand.NewPCG(7, 8))
	for _, typ := range schemeTypes() {
		d := New(Options{})
		if planOf(typ.Elem()) == nil {
			continue
		}
		obj := newOf(typ)
		require.NoError(t, d.Unmarshal(encode(random(typ, rng)), obj))
		eachValue(reflect.ValueOf(obj), func(v reflect.Value) {
			if v.Kind() == reflect.Slice {
				require.Equal(t, v.Len(), v.Cap(), "%v in %v", v.Type(), typ)
			}
		})
	}
}

// eachValue visits all that v holds, Quantities and times as one, and maps without what is in them.
func eachValue(v reflect.Value, visit func(reflect.Value)) {
	visit(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachValue(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachValue(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != quantityType && v.Type().Field(i).IsExported() {
				eachValue(v.Field(i), visit)
			}
		}
	}
}

// String writes into the Quantity it is called on.
func TestUnmarshal_NoTwoObjectsHoldTheSameQuantity(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	found := 0
	for _, typ := range schemeTypes() {
		d := New(Options{})
		if planOf(typ.Elem()) == nil {
			continue
		}
		holder := map[unsafe.Pointer]int{}
		for n := range extent.Of(10, 30) {
			data := encode(random(typ, rng))
			for again := range 3 {
				obj := newOf(typ)
				require.NoError(t, d.Unmarshal(data, obj))
				eachValue(reflect.ValueOf(obj), func(v reflect.Value) {
					if v.Type() == quantityType {
						found++
						require.NotContains(t, holder, v.Addr().UnsafePointer(), "%v", typ)
						holder[v.Addr().UnsafePointer()] = 3*n + again
					}
				})
			}
		}
	}
	require.Greater(t, found, extent.Of(30, 100))
}

// Under -race this fails if two objects have one Quantity that can be written.
func TestUnmarshal_QuantitiesMayBePrintedByAll(t *testing.T) {
	pod := memotest.Pod(1)
	limit := resource.MustParse("1Gi")
	pod.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}
	pod.Spec.Containers[0].Env[0].ValueFrom = &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "cpu", Divisor: limit}}
	pod.Spec.Containers[1].Resources.Limits["memory"] = resource.MustParse("1234567890123456789012")
	a, b := decodePods(t, pod)
	require.Equal(t, reflect.ValueOf(a.Spec.Containers[0].Resources.Limits).UnsafePointer(),
		reflect.ValueOf(b.Spec.Containers[0].Resources.Limits).UnsafePointer(), "in a map they are only copied")
	require.NotEqual(t, reflect.ValueOf(a.Spec.Containers[1].Resources.Limits).UnsafePointer(),
		reflect.ValueOf(b.Spec.Containers[1].Resources.Limits).UnsafePointer(), "a copy shares its digits with what it is copied from")
	var wg sync.WaitGroup
	for _, pod := range []*corev1.Pod{a, b} {
		wg.Go(func() {
			_ = pod.Spec.Volumes[0].EmptyDir.SizeLimit.String()
			_ = pod.Spec.Containers[0].Env[0].ValueFrom.ResourceFieldRef.Divisor.String()
			_ = pod.Spec.Containers[0].Resources.Limits.Memory().String()
			sum := pod.Spec.Containers[1].Resources.Limits["memory"]
			sum.Add(limit) // writes where its digits are, though it is a copy
		})
	}
	wg.Wait()
}

func TestUnmarshal_WorksForTypesThatAreMapsOfSlices(t *testing.T) {
	slice := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{{
		Name:       "gpu",
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"a": {IntValue: new(int64)}},
		Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"c": {Value: resource.MustParse("1")}},
	}}}}
	w := newTwins(reflect.TypeFor[*resourcev1.ResourceSlice]())
	for range 3 {
		w.decode(t, encode(slice))
	}
	w.stillEqual(t)
}

func TestDecoder_TableIsBounded(t *testing.T) {
	const limit = 1 << 16
	d := New(Options{TableBytes: limit})
	for n := range 20_000 {
		// Pairs, as only what comes again is kept.
		data := encode(&corev1.ConfigMap{Data: map[string]string{fmt.Sprint("key", n/2): strings.Repeat("x", n/2%100)}})
		require.NoError(t, d.Unmarshal(data, &corev1.ConfigMap{}))
		require.LessOrEqual(t, tableOf(d).size, limit)
		require.LessOrEqual(t, d.stats().Parts*entryBytes, 2*limit)
	}
	require.Positive(t, d.stats().Parts)
	big := encode(&corev1.ConfigMap{Data: map[string]string{"big": strings.Repeat("y", limit/4)}})
	d = New(Options{TableBytes: limit})
	for range 5 {
		require.NoError(t, d.Unmarshal(big, &corev1.ConfigMap{}))
	}
	require.Less(t, tableOf(d).size, limit/8)
}

func TestDecoder_WhatIsSeenAllTheTimeIsNotForgotten(t *testing.T) {
	d := New(Options{TableBytes: 1 << 14})
	decode := func(n int) *corev1.ConfigMap {
		obj := &corev1.ConfigMap{}
		data := encode(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(n / 2), Labels: map[string]string{"app": "web"}}})
		require.NoError(t, d.Unmarshal(data, obj))
		return obj
	}
	decode(0)
	first := decode(0)
	for n := range 10_000 {
		next := decode(n)
		require.Equal(t, reflect.ValueOf(first.Labels).UnsafePointer(), reflect.ValueOf(next.Labels).UnsafePointer(), "%d", n)
	}
}

func TestDecoder_WhatComesOnceIsNotKept(t *testing.T) {
	d := New(Options{})
	for n := range 1000 {
		data := encode(&corev1.ConfigMap{Data: map[string]string{fmt.Sprint("key", n): fmt.Sprint("value", n)}})
		require.NoError(t, d.Unmarshal(data, &corev1.ConfigMap{}))
	}
	require.Less(t, d.stats().Parts, 10, "but for hashes that are the same by chance")
}

func TestDecoder_WhatOnlyOneObjectHasTwiceIsNotKept(t *testing.T) {
	d := podDecoder()
	mount := func(n int) []corev1.VolumeMount { return []corev1.VolumeMount{{Name: fmt.Sprint("token-", n)}} }
	for n := range 100 {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{VolumeMounts: mount(n)}, {VolumeMounts: mount(n)}, {VolumeMounts: mount(n)}}}}
		require.NoError(t, d.Unmarshal(encode(pod), &corev1.Pod{}))
	}
	// All that is not the same in all of them: what an empty pod has beside its mounts.
	empty := podDecoder()
	for range 100 {
		require.NoError(t, empty.Unmarshal(encode(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}), &corev1.Pod{}))
	}
	require.Less(t, d.stats().Parts, empty.stats().Parts+10, "but for hashes that are the same by chance")
}

// A part is in memory as long as one of those that hold it, whether the table still has it by itself or not.
func TestDecoder_APartCountsWithAllThatItHolds(t *testing.T) {
	d := New(Options{})
	entry := func(name string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: name, FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 10_000))}
	}
	decode := func(manager string) {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{entry(manager)}}}
		require.NoError(t, d.Unmarshal(encode(obj), &corev1.ConfigMap{}))
	}
	decode("one")
	decode("one")
	before := tableOf(d).size
	decode("another")
	decode("another") // its fields are known; to it and to the slice of it belong 10,000 bytes all the same, beside two keys
	require.Greater(t, tableOf(d).size-before, 40_000)
}

func TestDecoder_AFieldThatIsSeldomFoundRestsAndIsTriedAgain(t *testing.T) {
	d := New(Options{})
	decode := func(name string) {
		data := encode(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}})
		require.NoError(t, d.Unmarshal(data, &corev1.ConfigMap{}))
	}
	for n := range window {
		decode(fmt.Sprint("name", n))
	}
	require.Positive(t, d.stats().Paused)
	asked := d.stats().Asked
	for range pause {
		decode("always the same")
	}
	require.Less(t, d.stats().Asked, asked+pause)
	for range 3 * window {
		decode("always the same")
	}
	require.Zero(t, d.stats().Paused)
	require.Greater(t, d.stats().Found, uint64(window))
}

func TestDecoder_MayBeUsedByManyAtOnce(t *testing.T) {
	d := New(Options{TableBytes: 1 << 16})
	encoded := memotest.EncodedPods(200)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n, data := range encoded {
				pod := &corev1.Pod{}
				if err := d.Unmarshal(data, pod); err != nil || !reflect.DeepEqual(pod, memotest.Pod(n)) {
					t.Errorf("pod %d: %v", n, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestUnmarshal_SharesContainersWithALimitOfZero(t *testing.T) {
	limits := corev1.ResourceList{"cpu": resource.MustParse("0")}
	data := encode(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: limits}}}}})
	d, pods := New(Options{}), [4]corev1.Pod{}
	for i := range pods {
		require.NoError(t, d.Unmarshal(data, &pods[i]))
	}
	require.Same(t, &pods[2].Spec.Containers[0], &pods[3].Spec.Containers[0])
}

// The memo shares quantities in maps. A handler may do arithmetic on a copy of one.
func TestUnmarshal_ArithmeticOnACopyOfAQuantityChangesNoOtherObject(t *testing.T) {
	values := []string{"0", "0.00000000000000000000", "-0.0000000000000000000000000", "1", "250m", "-250m", "1Gi", "16Ei", "-16Ei", "9223372036854775807", "9223372036854775808",
		"123456789012345678901234567890", "-123456789012345678901234567890", "0.000000001", "1e30"}
	for _, value := range values {
		quantity := resource.MustParse(value)
		list := corev1.ResourceList{"cpu": quantity, "memory": resource.MustParse("1Gi")}
		data := encode(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: list}}}}})
		d := New(Options{})
		for range 4 {
			pod := &corev1.Pod{}
			require.NoError(t, d.Unmarshal(data, pod))
			sum := pod.Spec.Containers[0].Resources.Limits["cpu"]
			require.Zero(t, sum.Cmp(resource.MustParse(value)), value)
			sum.Add(resource.MustParse("5"))
			sum.Neg()
		}
	}
}

func TestCopiesAlone_IsTrueForShortNumbersOnly(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "-3": true, "250m": true, "1Gi": true, "123456789012345678901234567890": false,
		"-123456789012345678901234567890": false, "0": true, "0Gi": true, "0.00000000000000000000": false} {
		quantity := resource.MustParse(value)
		require.Equal(t, want, copiesAlone(&quantity), value)
		require.Zero(t, quantity.Cmp(resource.MustParse(value)), "it is unchanged")
	}
}
