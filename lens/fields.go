package lens

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxFields bounds what is told of one change.
const maxFields = 8

// serverSets are fields of the metadata that change with each write.
var serverSets = []string{"resourceVersion", "managedFields", "generation"}

// changedFields names the fields in which two objects differ, without their values. A list is one field.
//
// They are those in which the maps differ that runtime.DefaultUnstructuredConverter makes of the objects. But to make
// these takes much longer than to compare. So two objects of one Go type are compared first, and only what that does not
// decide is converted.
func changedFields(before, after any) []string {
	before, after, fields, isDecided := compareTyped(before, after)
	if !isDecided {
		from, ok := asMap(before)
		if !ok {
			return nil
		}
		to, ok := asMap(after)
		if !ok {
			return nil
		}
		fields = differing("", from, to, fields)
	}
	slices.Sort(fields)
	return fields[:min(len(fields), maxFields)]
}

// compare adds to c what tells two versions of its object apart.
func (c *Cause) compare(before, after any) {
	c.Fields = changedFields(before, after)
	a, errBefore := meta.Accessor(before)
	b, errAfter := meta.Accessor(after)
	if errBefore == nil && errAfter == nil {
		c.managers = writers(a.GetManagedFields(), b.GetManagedFields())
	}
}

// writers returns the managers whose entries have another time. A write that only takes fields away leaves all times, and
// so may a second one within a second.
func writers(before, after []metav1.ManagedFieldsEntry) (managers []string) {
	for _, e := range after {
		isKnown := func(old metav1.ManagedFieldsEntry) bool {
			return old.Manager == e.Manager && old.Operation == e.Operation && old.Subresource == e.Subresource && old.Time.Equal(e.Time)
		}
		if !slices.ContainsFunc(before, isKnown) {
			managers = append(managers, e.Manager)
		}
	}
	return managers
}

// differing adds the fields in which two maps differ. A path is put together for those, and for maps.
func differing(path string, from, to map[string]any, fields []string) []string {
	differ := func(name string, a, b any) {
		m, isMap := a.(map[string]any)
		n, areMaps := b.(map[string]any)
		switch {
		case path == ".metadata" && slices.Contains(serverSets, name):
		case isMap && areMaps:
			fields = differing(path+"."+name, m, n, fields)
		case !reflect.DeepEqual(a, b):
			fields = append(fields, path+"."+name)
		}
	}
	for name, a := range from {
		differ(name, a, to[name])
	}
	for name, b := range to {
		if _, both := from[name]; !both {
			differ(name, nil, b)
		}
	}
	return fields
}

func asMap(obj any) (map[string]any, bool) {
	if obj == nil {
		return nil, false
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	return fields, err == nil
}

// compareTyped returns fields that differ, and copies of the objects without them, and without most of what is equal. It
// reports whether nothing else may differ. Objects of different types, and those that are maps already, are returned
// as they are.
func compareTyped(before, after any) (restBefore, restAfter any, fields []string, isDecided bool) {
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	_, isMap := before.(runtime.Unstructured)
	areTyped := a.IsValid() && b.IsValid() && a.Type() == b.Type() && a.Kind() == reflect.Pointer && !isMap
	if !areTyped || a.IsNil() || b.IsNil() || planOf(a.Type().Elem()) == nil {
		return before, after, nil, false
	}
	a, b = copyOf(a), copyOf(b)
	c := comparison{}
	c.structs("", a.Elem(), b.Elem())
	return a.Interface(), b.Interface(), c.fields, c.left == 0
}

// copyOf returns a pointer to a copy of what a pointer points to.
func copyOf(pointer reflect.Value) reflect.Value {
	c := reflect.New(pointer.Type().Elem())
	c.Elem().Set(pointer.Elem())
	return c
}

// comparison compares values of one Go type side by side.
type comparison struct {
	fields []string // that differ
	left   int      // fields that were left to be compared as maps
}

// structs empties, in two structs, the fields that are equal, and those that it tells of. Both are copies: what they
// point to is not written to.
func (c *comparison) structs(path string, a, b reflect.Value) {
	for _, f := range planOf(a.Type()) {
		x, y := a.Field(f.index), b.Field(f.index)
		switch {
		case f.how == skip:
			continue
		case f.how == descend:
			c.structs(path+f.suffix, x, y)
			continue
		case f.how == keep:
			if !x.CanInterface() || !isEqual(x, y) {
				c.left++
			}
			continue
		case path == ".metadata" && slices.Contains(serverSets, f.suffix[1:]), isEqual(x, y):
		case f.how == followPointer && !x.IsNil() && !y.IsNil():
			m, n, left := copyOf(x), copyOf(y), c.left
			c.structs(path+f.suffix, m.Elem(), n.Elem())
			if c.left > left {
				x.Set(m)
				y.Set(n)
				continue
			}
		case f.how == compareMaps && !f.isEmpty(x) && !f.isEmpty(y):
			c.maps(path+f.suffix, x.Interface().(map[string]string), y.Interface().(map[string]string))
		case f.how == compareMaps && f.isEmpty(x) && f.isEmpty(y):
		case f.how == compareMaps, f.how == compareBasic:
			c.fields = append(c.fields, path+f.suffix)
		default:
			c.left++
			continue
		}
		x.SetZero()
		y.SetZero()
	}
}

func (c *comparison) maps(path string, a, b map[string]string) {
	for name, x := range a {
		y, both := b[name]
		if !both || x != y {
			c.fields = append(c.fields, path+"."+name)
		}
	}
	for name := range b {
		if _, both := a[name]; !both {
			c.fields = append(c.fields, path+"."+name)
		}
	}
}

// isEqual reports whether two values are equal in Go. If they are not, their maps may yet be.
func isEqual(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.Map, reflect.Slice:
		if x.Len() != y.Len() || x.IsNil() != y.IsNil() {
			return false
		}
		return x.Len() == 0 || x.Pointer() == y.Pointer() || reflect.DeepEqual(x.Interface(), y.Interface())
	case reflect.Pointer:
		return x.Pointer() == y.Pointer() || reflect.DeepEqual(x.Interface(), y.Interface())
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		return x.Equal(y)
	}
	return reflect.DeepEqual(x.Interface(), y.Interface())
}

// treatment is what a comparison does with a field.
type treatment int

const (
	compare       treatment = iota // if it is not equal, it is left
	compareBasic                   // if it is not equal, it differs
	compareMaps                    // of strings
	descend                        // it is a struct
	followPointer                  // to a struct
	keep                           // as compare, and it is not emptied: that might not be the same in the map
	skip                           // it is not in the map
)

type fieldPlan struct {
	index     int
	how       treatment
	suffix    string // of the path: the name in JSON behind a dot, or empty if the field is inline
	omitEmpty bool
}

// isEmpty reports whether a map is null or absent.
func (f fieldPlan) isEmpty(m reflect.Value) bool { return m.IsNil() || f.omitEmpty && m.Len() == 0 }

// plans has those of each type of struct that was seen. A program has a bounded number of them.
var plans sync.Map

// planOf returns how to compare the fields of a type; nil if they do not become fields of the map.
func planOf(t reflect.Type) []fieldPlan {
	if known, found := plans.Load(t); found {
		return known.([]fieldPlan)
	}
	var plan []fieldPlan
	if canDescend(t) {
		for i := range t.NumField() {
			plan = append(plan, planField(t.Field(i)))
			plan[i].index = i
		}
	}
	plans.Store(t, plan)
	return plan
}

func planField(f reflect.StructField) fieldPlan {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	plan := fieldPlan{how: keep, omitEmpty: slices.Contains(strings.Split(options, ","), "omitempty")}
	isStruct := canDescend(f.Type)
	if name != "" {
		plan.suffix = "." + name
	}
	switch {
	case name == "-":
		plan.how = skip
	case !f.IsExported() || strings.Contains(options, "omitzero") || strings.Contains(options, "embed"):
	case isStruct && (name != "" || f.Anonymous):
		plan.how = descend
	case name == "" || f.Type.Kind() != reflect.Pointer && (converts(f.Type) || f.Type.Kind() == reflect.Struct):
	case f.Type.Kind() == reflect.Pointer && canDescend(f.Type.Elem()):
		plan.how = followPointer
	case f.Type == reflect.TypeFor[map[string]string]():
		plan.how = compareMaps
	default:
		plan.how = compare
		if isBasic(f.Type.Kind()) {
			plan.how = compareBasic
		}
	}
	return plan
}

func isBasic(k reflect.Kind) bool {
	return k == reflect.String || reflect.Bool <= k && k <= reflect.Int64 || k == reflect.Float32 || k == reflect.Float64
}

// canDescend reports whether the fields of a type become fields of the map.
func canDescend(t reflect.Type) bool { return t.Kind() == reflect.Struct && !converts(t) }

var (
	marshaler = reflect.TypeFor[json.Marshaler]()
	converter = reflect.TypeFor[interface{ ToUnstructured() any }]()
)

// converts reports whether a type has its own way to become a part of the map.
func converts(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(marshaler) || p.Implements(converter)
}
