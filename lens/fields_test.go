package lens

import (
	"iter"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	goruntime "runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

// changedByMaps is the plain way: both objects become maps, whole.
func changedByMaps(before, after any) []string {
	from, ok := asMap(before)
	to, both := asMap(after)
	if !ok || !both {
		return nil
	}
	fields := plainlyDiffering("", from, to)
	slices.Sort(fields)
	return fields[:min(len(fields), maxFields)]
}

func plainlyDiffering(path string, from, to any) (fields []string) {
	serverSets := []string{".metadata.resourceVersion", ".metadata.managedFields", ".metadata.generation"}
	if slices.Contains(serverSets, path) || reflect.DeepEqual(from, to) {
		return nil
	}
	a, isMap := from.(map[string]any)
	b, areMaps := to.(map[string]any)
	if !isMap || !areMaps {
		return []string{path}
	}
	names := map[string]bool{}
	for name := range a {
		names[name] = true
	}
	for name := range b {
		names[name] = true
	}
	for name := range names {
		fields = append(fields, plainlyDiffering(path+"."+name, a[name], b[name])...)
	}
	return fields
}

// odd has what no type of Kubernetes has, but one of a program may.
type odd struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	*Embedded         `json:",inline"`
	Zero              nested            `json:"zero,omitzero"`
	Struct            nested            `json:"struct,omitempty"`
	Pointer           *nested           `json:"pointer"`
	Present           map[string]string `json:"present"`
	Absent            map[string]string `json:"absent,omitempty"`
	Nested            map[string]nested `json:"nested,omitempty"`
	List              []nested          `json:"list"`
	Bytes             []byte            `json:"bytes,omitempty"`
	Any               any               `json:"any,omitempty"`
	Skipped           string            `json:"-"`
	Untagged          int
	Time              *metav1.MicroTime  `json:"time,omitempty"`
	Quantity          resource.Quantity  `json:"quantity"`
	Port              intstr.IntOrString `json:"port,omitempty"`
	Meta              *metav1.ObjectMeta `json:"meta,omitempty"`
}

type Embedded struct {
	Inner string `json:"inner,omitempty"`
	Deep  nested `json:"deep"`
}

type nested struct {
	A string  `json:"a,omitempty"`
	B *int    `json:"b"`
	C *nested `json:"c,omitempty"`
	D float64 `json:"d"`
}

func TestChangedFields_AreThoseOfTheWholeMaps(t *testing.T) {
	for _, of := range []any{odd{}, corev1.Pod{}, appsv1.Deployment{}, corev1.ConfigMap{}, corev1.Service{}} {
		t.Run(reflect.TypeOf(of).Name(), func(t *testing.T) {
			told := 0
			rapid.Check(t, func(t *rapid.T) {
				seed, changes := rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "changes")
				before, after, kept := reflect.New(reflect.TypeOf(of)), reflect.New(reflect.TypeOf(of)), reflect.New(reflect.TypeOf(of))
				for _, v := range []reflect.Value{before, after, kept} {
					random{rand.New(rand.NewPCG(seed, 0))}.fill(v.Elem(), 6)
				}
				random{rand.New(rand.NewPCG(changes, 0))}.change(before.Elem(), after.Elem())
				a, b := before.Interface(), after.Interface()
				want := changedByMaps(a, b)
				told += len(want)
				require.Equal(t, want, changedFields(a, b))
				require.Equal(t, changedByMaps(b, a), changedFields(b, a))
				require.True(t, reflect.DeepEqual(kept.Interface(), a), "the object was written to")
				u, v := asUnstructured(t, a), asUnstructured(t, b)
				require.Equal(t, want, changedFields(u, v))
				require.Equal(t, want, changedByMaps(a, v))
				require.Equal(t, want, changedFields(a, v), "one of them is typed")
			})
			require.NotZero(t, told)
		})
	}
}

func asUnstructured(t *rapid.T, obj any) *unstructured.Unstructured {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(t, err)
	return &unstructured.Unstructured{Object: fields}
}

type random struct{ *rand.Rand }

// fill fills about a third of all fields, with few values: so two of them are often equal.
func (r random) fill(v reflect.Value, depth int) {
	switch v.Addr().Interface().(type) {
	case *metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(r.Int64N(3), 0)))
		return
	case *metav1.MicroTime:
		v.Set(reflect.ValueOf(metav1.NewMicroTime(time.Unix(r.Int64N(3), 0))))
		return
	case *resource.Quantity: // there are several ways to have the same in memory
		v.Set(reflect.ValueOf([]resource.Quantity{resource.MustParse("1"), *resource.NewQuantity(1, resource.DecimalSI), resource.MustParse("2")}[r.IntN(3)]))
		return
	case *metav1.FieldsV1:
		v.Set(reflect.ValueOf(metav1.NewFieldsV1(`{"f:a":{}}`)).Elem())
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"a", "b"}[r.IntN(2)])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(r.Int64N(2))
	case reflect.Uint8:
		v.SetUint(r.Uint64N(3))
	case reflect.Float64:
		v.SetFloat(float64(r.IntN(2)))
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{"x": []any{int64(r.IntN(2))}}))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.fill(v.Elem(), depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			r.fill(v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			r.fill(key, depth-1)
			r.fill(value, depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && depth > 0 && r.IntN(3) == 0 {
				r.fill(v.Field(i), depth-1)
			}
		}
	}
}

// change changes some fields of after, and lets others be before's in memory.
func (r random) change(before, after reflect.Value) {
	for i := range after.NumField() {
		x, y := before.Field(i), after.Field(i)
		isStruct := y.Kind() == reflect.Struct
		switch choice := r.IntN(12); {
		case !y.CanSet() || choice > 5 && !isStruct:
		case choice == 0:
			y.SetZero()
		case choice == 1:
			r.fill(y, 4)
		case isStruct:
			r.change(x, y)
		case choice == 2:
			y.Set(x)
		case y.Kind() == reflect.Pointer && y.Type().Elem().Kind() == reflect.Struct && !x.IsNil() && !y.IsNil():
			r.change(x.Elem(), y.Elem())
		}
	}
}

// The number that a coroutine finds is that of the goroutine, however deep it is, and in a bubble of synctest.
func TestGoroutine_IsTheNumberInTheTrace(t *testing.T) {
	var below func(depth int)
	below = func(depth int) {
		if depth > 0 {
			below(depth - 1)
			return
		}
		next, stop := iter.Pull(creator)
		defer stop()
		n, _ := next()
		require.Equal(t, goroutineByStack(), n)
		require.Equal(t, n, goroutine())
	}
	below(200)
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			go below(3)
		}
		go func() {
			goruntime.LockOSThread()
			below(0)
		}()
	})
}

func TestTransport_ReadsAnObjectWhoseDetailsAreItsOwn(t *testing.T) {
	l := tell(t)
	next := l.Transport(answeringWith("application/json", `{"kind":"Car","details":"red","metadata":{"name":"p","namespace":"ns","resourceVersion":"5"}}`))
	l.taken("c", "k")
	_, err := next.RoundTrip(httptest.NewRequest("POST", "http://server/apis/cars/v1/namespaces/ns/cars", nil))
	require.NoError(t, err)
	l.done("c", "k")
	written := l.key("c", "k").Reconciles[0].Writes[0]
	require.Equal(t, "ns/p", written.Object)
	require.Equal(t, "5", written.ResourceVersion)
}

func BenchmarkChangedFields(b *testing.B) {
	before := &corev1.Pod{}
	random{rand.New(rand.NewPCG(1, 2))}.fill(reflect.ValueOf(before).Elem(), 6)
	after := before.DeepCopy()
	after.Status.Message = "another"
	for name, changed := range map[string]func(any, any) []string{"maps": changedByMaps, "fields": changedFields} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				changed(before, after)
			}
		})
	}
}
