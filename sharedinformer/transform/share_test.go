package transform

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

// share is Share for tests, which cannot fail.
func share[T any](t require.TestingT, s *Sharer, obj T) T {
	out, err := ShareWith[T](s)(obj)
	require.NoError(t, err)
	return out
}

// fill makes a random value, of few different strings and numbers, so that parts are often equal.
func fill(v reflect.Value, rng *rand.Rand, depth int) {
	switch v.Type() {
	case reflect.TypeFor[resource.Quantity]():
		q := resource.MustParse([]string{"1", "1000m", "2Gi", "0", "100000000000000000000"}[rng.IntN(5)])
		if rng.IntN(2) == 0 {
			_ = q.String()
		}
		v.Set(reflect.ValueOf(q))
		return
	case reflect.TypeFor[metav1.Time]():
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(int64(rng.IntN(3)), 0).UTC())))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Clone([]string{"", "a", "b", "long enough to matter"}[rng.IntN(4)]))
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(rng.IntN(3)))
	case reflect.Uint8:
		v.SetUint(uint64(rng.IntN(3)))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), rng, depth+1)
			}
		}
	case reflect.Pointer:
		if depth < 9 && rng.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), rng, depth+1)
		}
	case reflect.Slice:
		if n := rng.IntN(4); depth < 9 && n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n-1+rng.IntN(3)))
			for i := range v.Len() {
				fill(v.Index(i), rng, depth+1)
			}
		}
	case reflect.Map:
		if n := rng.IntN(4); depth < 9 && n > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n - 1 {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(key, rng, depth+1)
				fill(value, rng, depth+1)
				v.SetMapIndex(key, value)
			}
		}
	}
}

func TestShare_ObjectsAreDeeplyEqualBeforeAndAfter(t *testing.T) {
	s := NewSharer(SharerOptions{TableBytes: 1 << 14}) // often full
	check := func(rng *rand.Rand, make func() any) {
		obj := make()
		fill(reflect.ValueOf(obj).Elem(), rng, 0)
		// A deep copy is not exact enough: it is filled a second time.
		before := make()
		reflect.ValueOf(before).Elem().Set(reflect.ValueOf(obj).Elem())
		copied := clone(reflect.ValueOf(obj)).Interface()
		require.True(t, reflect.DeepEqual(copied, obj))
		share(t, s, obj)
		require.True(t, reflect.DeepEqual(copied, obj), "%T changed", obj)
		require.True(t, apiequality.Semantic.DeepEqual(copied, obj))
	}
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		check(rng, func() any { return &corev1.Pod{} })
		check(rng, func() any { return &corev1.Node{} })
		check(rng, func() any { return &corev1.Secret{} })
		check(rng, func() any { return &appsv1.Deployment{} })
		check(rng, func() any { return &networkingv1.Ingress{} })
	})
}

// clone is an exact copy: nil stays nil, empty stays empty.
func clone(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(clone(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(clone(v.Index(i)))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMap(v.Type()))
			for it := v.MapRange(); it.Next(); {
				out.SetMapIndex(it.Key(), clone(it.Value()))
			}
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(clone(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(clone(v.Field(i)))
			}
		}
	}
	return out
}

func TestShare_EqualPartsAreOne(t *testing.T) {
	s := NewSharer(SharerOptions{})
	made := func() *corev1.Pod {
		yes := true
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": strings.Clone("web")}, Namespace: strings.Clone("shop")},
			Spec: corev1.PodSpec{
				NodeSelector:       map[string]string{"disk": "ssd"},
				Containers:         []corev1.Container{{Image: "web:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}},
				EnableServiceLinks: &yes,
			},
		}
	}
	a, b := share(t, s, made()), share(t, s, made())
	require.Equal(t, unsafe.StringData(a.Namespace), unsafe.StringData(b.Namespace))
	require.Equal(t, reflect.ValueOf(a.Labels).UnsafePointer(), reflect.ValueOf(b.Labels).UnsafePointer())
	require.Same(t, &a.Spec.Containers[0], &b.Spec.Containers[0])
	require.Same(t, a.Spec.EnableServiceLinks, b.Spec.EnableServiceLinks)
}

func TestShare_UnstructuredPartsAreOne(t *testing.T) {
	s := NewSharer(SharerOptions{})
	made := func(name string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		require.NoError(t, utiljson.Unmarshal([]byte(`{"metadata":{"name":"`+name+`"},"spec":{"list":[1,1.5,"x",null,true,{"a":{}}]}}`), &u.Object))
		return u
	}
	a, b := share(t, s, made("a")), share(t, s, made("b"))
	require.Equal(t, made("a"), a)
	require.Equal(t, made("b"), b)
	require.Equal(t, reflect.ValueOf(a.Object["spec"]).UnsafePointer(), reflect.ValueOf(b.Object["spec"]).UnsafePointer())
}

func TestShare_TellsApartWhatIsNearlyEqual(t *testing.T) {
	s := NewSharer(SharerOptions{})
	for _, pair := range [][2]any{
		{int64(1), float64(1)}, {0.0, math.Copysign(0, -1)}, {[]any{}, []any(nil)}, {map[string]any{}, map[string]any(nil)},
		{"1", int64(1)}, {nil, map[string]any{}},
	} {
		for _, x := range pair {
			in := map[string]any{"in": []any{x}}
			u := share(t, s, &unstructured.Unstructured{Object: in})
			got := u.Object["in"].([]any)[0]
			require.Equal(t, x, got)
			if f, ok := x.(float64); ok {
				require.Equal(t, math.Signbit(f), math.Signbit(got.(float64)))
			}
		}
	}
	type both struct{ Nil, Empty []string }
	require.Equal(t, &both{nil, []string{}}, share(t, s, &both{nil, []string{}}))
}

func TestShare_AnAppendToASharedSliceDoesNotReachTheOtherObject(t *testing.T) {
	s := NewSharer(SharerOptions{})
	made := func() *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Tolerations: append(make([]corev1.Toleration, 0, 8), corev1.Toleration{Key: "x"})}}
	}
	a, b := share(t, s, made()), share(t, s, made())
	require.Same(t, &a.Spec.Tolerations[0], &b.Spec.Tolerations[0])
	first := append(a.Spec.Tolerations, corev1.Toleration{Key: "first"})
	second := append(b.Spec.Tolerations, corev1.Toleration{Key: "second"})
	require.Equal(t, "first", first[1].Key)
	require.Equal(t, "second", second[1].Key)
	require.Len(t, share(t, s, made()).Spec.Tolerations, 1)
}

// A transform that writes in place comes before the sharing, whatever order it is given in: it has no other place.
func TestShare_TransformsInPlaceReachNoOtherObject(t *testing.T) {
	n := 0
	transform := Share(func(pod *corev1.Pod) (*corev1.Pod, error) {
		n++
		pod.Labels["n"] = fmt.Sprint(n)
		pod.Spec.Containers[0].Image += "!"
		return pod, nil
	})
	var all []*corev1.Pod
	for range 10 {
		pod, err := transform(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: "web"}}},
		})
		require.NoError(t, err)
		all = append(all, pod)
	}
	for i, pod := range all {
		require.Equal(t, map[string]string{"app": "web", "n": fmt.Sprint(i + 1)}, pod.Labels)
		require.Equal(t, "web!", pod.Spec.Containers[0].Image)
	}
}

// String writes into the Quantity it is called on: under -race this fails if two objects have one.
func TestShare_QuantitiesBehindPointersAreLeftAlone(t *testing.T) {
	s := NewSharer(SharerOptions{})
	made := func() *corev1.Pod {
		limit, divisor := *resource.NewQuantity(1<<30, resource.BinarySI), *resource.NewQuantity(1, resource.DecimalSI)
		return &corev1.Pod{Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}},
			Containers: []corev1.Container{{
				Env:       []corev1.EnvVar{{ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Divisor: divisor}}}},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": limit}},
			}},
		}}
	}
	a, b := share(t, s, made()), share(t, s, made())
	require.Equal(t, reflect.ValueOf(a.Spec.Containers[0].Resources.Limits).UnsafePointer(),
		reflect.ValueOf(b.Spec.Containers[0].Resources.Limits).UnsafePointer(), "in a map they are only copied")
	var wg sync.WaitGroup
	for _, pod := range []*corev1.Pod{a, b} {
		wg.Go(func() {
			_ = pod.Spec.Volumes[0].EmptyDir.SizeLimit.String()
			_ = pod.Spec.Containers[0].Env[0].ValueFrom.ResourceFieldRef.Divisor.String()
			_ = pod.Spec.Containers[0].Resources.Limits.Memory().String()
		})
	}
	wg.Wait()
}

func TestSharer_TableIsBounded(t *testing.T) {
	const limit = 1 << 16
	s := NewSharer(SharerOptions{TableBytes: limit})
	for n := range 20_000 {
		share(t, s, &corev1.ConfigMap{Data: map[string]string{fmt.Sprint("key", n): strings.Repeat("x", n%100)}})
		require.LessOrEqual(t, s.size, limit)
		require.LessOrEqual(t, (len(s.young)+len(s.old)+len(s.strings)+len(s.oldStrings))*entryBytes, 2*limit)
	}
	big := strings.Repeat("y", limit)
	share(t, s, &corev1.ConfigMap{Data: map[string]string{"big": big}})
	require.NotContains(t, s.strings, big)
}

func TestSharer_WhatIsSeenAllTheTimeIsNotForgotten(t *testing.T) {
	s := NewSharer(SharerOptions{TableBytes: 1 << 14})
	made := func(n int) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(n), Labels: map[string]string{"app": "web"}}}
	}
	first := share(t, s, made(0))
	for n := range 10_000 {
		next := share(t, s, made(n))
		require.Equal(t, reflect.ValueOf(first.Labels).UnsafePointer(), reflect.ValueOf(next.Labels).UnsafePointer())
	}
}

func TestSharer_MayBeUsedByManyAtOnce(t *testing.T) {
	s := NewSharer(SharerOptions{TableBytes: 1 << 14})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range 200 {
				pod := share(t, s, kubeletPod(n))
				_, _ = json.Marshal(pod.Labels) // readers of cached objects
			}
		})
	}
	wg.Wait()
}

// kubeletPod is a pod as it is in a cluster: of one of 50 deployments, on one of 100 nodes, running.
func kubeletPod(n int) *corev1.Pod {
	app := fmt.Sprintf("app-%d", n%50)
	at := metav1.NewTime(time.Unix(1_700_000_000+int64(n), 0))
	name := fmt.Sprintf("%s-7d4b9c6f5-%05d", app, n)
	yes, seconds, mode := true, int64(300), int32(420)
	limits := corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("256Mi")}
	toleration := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &seconds}
	}
	var env []corev1.EnvVar
	for i := range 8 {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: fmt.Sprintf("value of %s number %d", app, i)})
	}
	var conditions []corev1.PodCondition
	for _, typ := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, corev1.PodCondition{Type: typ, Status: "True", LastTransitionTime: at})
	}
	mount := corev1.VolumeMount{Name: "kube-api-access", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}
	ip := fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255)
	probe := func(path string) *corev1.Probe {
		p := &corev1.Probe{TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3}
		p.HTTPGet = &corev1.HTTPGetAction{Path: path, Scheme: "HTTP"}
		return p
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, GenerateName: app + "-7d4b9c6f5-", Namespace: "shop-" + app, ResourceVersion: fmt.Sprint(1_000_000 + n),
			UID: "00000000-0000-4000-8000-000000000000", CreationTimestamp: at,
			Labels:          map[string]string{"app": app, "pod-template-hash": "7d4b9c6f5", "app.kubernetes.io/part-of": "shop"},
			Annotations:     map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-7d4b9c6f5", Controller: &yes, BlockOwnerDeletion: &yes}},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "main", Image: "registry.example.com/shop/" + app + ":1.2.3", Env: env, ImagePullPolicy: "IfNotPresent",
				Ports:         []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}, {Name: "metrics", ContainerPort: 9090, Protocol: "TCP"}},
				Resources:     corev1.ResourceRequirements{Limits: limits, Requests: limits},
				LivenessProbe: probe("/live"), ReadinessProbe: probe("/ready"), VolumeMounts: []corev1.VolumeMount{mount},
				TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File",
			}},
			Volumes: []corev1.Volume{{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				DefaultMode: &mode,
				Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &seconds, Path: "token"}},
					{ConfigMap: &corev1.ConfigMapProjection{Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
				},
			}}}},
			NodeName: fmt.Sprintf("node-%d", n%100), ServiceAccountName: app, RestartPolicy: "Always", DNSPolicy: "ClusterFirst",
			SchedulerName: "default-scheduler", SecurityContext: &corev1.PodSecurityContext{}, EnableServiceLinks: &yes,
			TerminationGracePeriodSeconds: &seconds,
			Tolerations:                   []corev1.Toleration{toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")},
		},
		Status: corev1.PodStatus{
			Phase: "Running", PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, HostIP: fmt.Sprintf("192.168.0.%d", n%100),
			StartTime: &at, QOSClass: "Guaranteed", Conditions: conditions,
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", Ready: true, Started: &yes, Image: "registry.example.com/shop/" + app + ":1.2.3",
				ImageID: "registry.example.com/shop/" + app + "@sha256:" + strings.Repeat("0", 64), ContainerID: fmt.Sprintf("containerd://%064d", n),
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
			}},
		},
	}
	return pod
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestShare_FiveThousandPodsTakeLessThanSevenTenthsOfTheHeap(t *testing.T) {
	const count = 5000
	encoded := make([][]byte, count)
	for n := range encoded {
		data, err := kubeletPod(n).Marshal()
		require.NoError(t, err)
		encoded[n] = data
	}
	measure := func(transform func(*corev1.Pod) (*corev1.Pod, error)) uint64 {
		before := liveHeap()
		pods := make([]*corev1.Pod, count)
		for n := range pods {
			pod := &corev1.Pod{}
			require.NoError(t, pod.Unmarshal(encoded[n])) // as they come from the wire
			pods[n], _ = transform(pod)
		}
		after := liveHeap()
		runtime.KeepAlive(pods)
		runtime.KeepAlive(transform)
		runtime.KeepAlive(encoded)
		return after - before
	}
	measure(Chain[*corev1.Pod]()) // what the first use of a type leaves behind is not the pods'
	plain, shared := measure(Chain[*corev1.Pod]()), measure(Share[*corev1.Pod]())
	require.Greater(t, shared, uint64(count)*uint64(unsafe.Sizeof(corev1.Pod{})), "the pods themselves are not shared")
	ratio := float64(shared) / float64(plain)
	t.Logf("%d pods: %.1f MB, shared, with the table: %.1f MB, ratio %.2f", count, float64(plain)/1e6, float64(shared)/1e6, ratio)
	require.Less(t, ratio, 0.7)
}
