package cache

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/klog/v2"
)

// How many objects are checked for writes of the transform: the first, and then one of so many.
const (
	probation  = 64
	checkEvery = 64
)

// sharedTransform lets a transform change objects that share parts with others. The transform gets an object whose own
// struct and metadata are private.
//
//	shared object ──copy of struct and metadata──▶ transform ──▶ what is equal to the shared parts is replaced by them
//	            └──── now and then a deep copy ──▶ transform ──▶ has it written deeper? then nothing is shared any more
//
// The transform is called once for each object, by one goroutine at a time.
type sharedTransform struct {
	informer string
	// stopSharing has further objects decoded without shared parts.
	stopSharing func()

	count   int
	private bool // the transform writes to shared parts: it gets deep copies only
}

// apply calls transform for obj.
func (s *sharedTransform) apply(transform TransformFunc, obj object) (any, error) {
	if s.private {
		return transform(obj.DeepCopyObject())
	}
	s.count++
	if s.count > probation && s.count%checkEvery != 0 {
		out, err := transform(privateCopy(obj))
		reshare(out, obj)
		return out, err
	}
	deep := obj.DeepCopyObject().(object)
	out, err := transform(privateCopy(deep))
	if !equality.Semantic.DeepEqual(deep, obj) { // not reflect's: a Quantity writes to itself when it is printed
		s.private = true
		s.stopSharing()
		klog.Background().Info("Warning: a transform writes to parts that objects share, so they share nothing from now on. "+
			"Objects from before may have lost what it removes from others; GLASSWATCH_INFORMERS=unshared avoids that",
			"informer", s.informer, "object", klog.KObj(obj), "objects", s.count, "written", diff.Diff(obj, deep))
		return out, err
	}
	reshare(out, obj)
	return out, err
}

// privateCopy returns a copy of obj's struct, whose metadata can be changed: maps and slices there are copies.
func privateCopy(obj object) object {
	from := reflect.ValueOf(obj)
	copied := reflect.New(from.Type().Elem())
	copied.Elem().Set(from.Elem())
	out := copied.Interface().(object)
	out.SetLabels(maps.Clone(obj.GetLabels()))
	out.SetAnnotations(maps.Clone(obj.GetAnnotations()))
	out.SetFinalizers(slices.Clone(obj.GetFinalizers()))
	out.SetOwnerReferences(slices.Clone(obj.GetOwnerReferences()))
	out.SetManagedFields(slices.Clone(obj.GetManagedFields()))
	return out
}

// reshare replaces what out has of its own by what is equal in obj.
func reshare(out any, obj object) {
	changed, from := reflect.ValueOf(out), reflect.ValueOf(obj)
	if changed.IsValid() && changed.Type() == from.Type() && !changed.IsNil() && changed.UnsafePointer() != from.UnsafePointer() {
		reshareFields(changed.Elem(), from.Elem())
	}
}

func reshareFields(out, from reflect.Value) {
	for i := range out.NumField() {
		to, shared := out.Field(i), from.Field(i)
		switch {
		case !to.CanSet():
		case to.Kind() == reflect.Struct:
			reshareFields(to, shared)
		case to.Kind() == reflect.Map || to.Kind() == reflect.Slice || to.Kind() == reflect.Pointer:
			if to.UnsafePointer() != shared.UnsafePointer() && reflect.DeepEqual(to.Interface(), shared.Interface()) {
				to.Set(shared)
			}
		}
	}
}
