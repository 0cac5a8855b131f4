package memo

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// generated is what the protobuf code of each type offers.
type generated interface {
	Message
	Marshal() ([]byte, error)
}

// schemeTypes are all types of the scheme that have a protobuf form, and PartialObjectMetadata, as pointers, in a fixed order.
func schemeTypes() []reflect.Type {
	found := map[reflect.Type]bool{}
	for _, typ := range scheme.Scheme.AllKnownTypes() {
		if ptr := reflect.PointerTo(typ); ptr.Implements(reflect.TypeFor[generated]()) {
			found[ptr] = true
		}
	}
	found[reflect.TypeFor[*metav1.PartialObjectMetadata]()] = true
	var types []reflect.Type
	for typ := range found {
		types = append(types, typ)
	}
	slices.SortFunc(types, func(a, b reflect.Type) int {
		return strings.Compare(a.Elem().PkgPath()+a.Elem().Name(), b.Elem().PkgPath()+b.Elem().Name())
	})
	return types
}

func newOf(typ reflect.Type) generated { return reflect.New(typ.Elem()).Interface().(generated) }

// random returns an object of few different strings and numbers, so that its parts are often those of another. Sparse ones
// have few fields.
func random(typ reflect.Type, rng *rand.Rand) generated {
	obj := reflect.New(typ.Elem())
	f := filler{rng, []int{2, 4, 8}[rng.IntN(3)]}
	f.fill(obj.Elem(), 0)
	return obj.Interface().(generated)
}

type filler struct {
	*rand.Rand
	sparse int // one in so many of what may be missing is there
}

var quantityType = reflect.TypeFor[resource.Quantity]()

func (f filler) maybe() bool { return f.IntN(f.sparse) == 0 }

func (f filler) fill(v reflect.Value, depth int) {
	switch v.Type() {
	case quantityType:
		v.Set(reflect.ValueOf(resource.MustParse([]string{"1", "1000m", "2Gi", "0", "100000000000000000000000000", "1234567890123456789012", "-5"}[f.IntN(7)])))
		return
	case reflect.TypeFor[metav1.Time]():
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(int64(f.IntN(3)), 0))))
		return
	case reflect.TypeFor[metav1.MicroTime]():
		v.Set(reflect.ValueOf(metav1.NewMicroTime(time.Unix(int64(f.IntN(3)), 1000))))
		return
	case typeMetaType:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "a", "b", "long enough to matter", strings.Repeat("x", f.IntN(300))}[f.IntN(5)])
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 300, 1 << 30}[f.IntN(5)])
	case reflect.Uint8:
		v.SetUint(uint64(f.IntN(256)))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && (depth < 2 || f.maybe()) {
				f.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		if depth < 12 && f.maybe() {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if depth < 12 && f.maybe() {
			v.Set(reflect.MakeSlice(v.Type(), f.IntN(4), 4))
			for i := range v.Len() {
				f.fill(v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if depth < 12 && f.maybe() {
			v.Set(reflect.MakeMap(v.Type()))
			for range f.IntN(4) {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				f.fill(key, depth+1)
				f.fill(value, depth+1)
				v.SetMapIndex(key, value)
			}
		}
	}
}

func encode(obj generated) []byte {
	data, err := obj.Marshal()
	if err != nil {
		panic(err)
	}
	return data
}
