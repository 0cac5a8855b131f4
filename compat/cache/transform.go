package cache

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// apply calls transform for obj, whose own struct nothing else has.
func (s *sharedTransform) apply(transform TransformFunc, obj object) (any, error) {
	if s.private {
		return transform(obj.DeepCopyObject())
	}
	s.count++
	if s.count > probation && s.count%checkEvery != 0 {
		shared := metadataOf(obj)
		shared.clone().setIn(obj)
		out, err := transform(obj)
		shared.reshare(out, obj)
		return out, err
	}
	deep := obj.DeepCopyObject().(object)
	before := structOf(deep)
	metadataOf(deep).clone().setIn(deep)
	out, err := transform(deep)
	if !equality.Semantic.DeepEqual(before, obj) { // not reflect's: a Quantity writes to itself when it is printed
		s.private = true
		s.stopSharing()
		klog.Background().Info("Warning: a transform writes to parts that objects share, so they share nothing from now on. "+
			"Objects from before may have lost what it removes from others; GLASSWATCH_INFORMERS=unshared avoids that",
			"informer", s.informer, "object", klog.KObj(obj), "objects", s.count, "written", diff.Diff(obj, before))
		return out, err
	}
	metadataOf(obj).reshare(out, obj)
	return out, err
}

// structOf returns a copy of obj's struct, with the same parts.
func structOf(obj object) object {
	from := reflect.ValueOf(obj)
	copied := reflect.New(from.Type().Elem())
	copied.Elem().Set(from.Elem())
	return copied.Interface().(object)
}

// metadata is what an object's metadata shares with that of other objects.
type metadata struct {
	labels, annotations map[string]string
	finalizers          []string
	owners              []metav1.OwnerReference
	managed             []metav1.ManagedFieldsEntry
}

func metadataOf(obj object) metadata {
	return metadata{obj.GetLabels(), obj.GetAnnotations(), obj.GetFinalizers(), obj.GetOwnerReferences(), obj.GetManagedFields()}
}

// clone returns copies of the maps and slices.
func (m metadata) clone() metadata {
	return metadata{
		maps.Clone(m.labels), maps.Clone(m.annotations),
		slices.Clone(m.finalizers), slices.Clone(m.owners), slices.Clone(m.managed),
	}
}

func (m metadata) setIn(obj object) {
	obj.SetLabels(m.labels)
	obj.SetAnnotations(m.annotations)
	obj.SetFinalizers(m.finalizers)
	obj.SetOwnerReferences(m.owners)
	obj.SetManagedFields(m.managed)
}

// reshare replaces what out has of its own by what is equal in obj, whose metadata m was.
func (m metadata) reshare(out any, obj object) {
	changed, from := reflect.ValueOf(out), reflect.ValueOf(obj)
	if !changed.IsValid() || changed.Type() != from.Type() || changed.IsNil() {
		return
	}
	if changed.UnsafePointer() != from.UnsafePointer() {
		m.setIn(obj)
		reshareFields(changed.Elem(), from.Elem())
		return
	}
	now := metadataOf(obj)
	metadata{
		equalMap(now.labels, m.labels), equalMap(now.annotations, m.annotations),
		equalSlice(now.finalizers, m.finalizers), equalSlice(now.owners, m.owners), equalSlice(now.managed, m.managed),
	}.setIn(obj)
}

// equalMap returns shared if now is equal to it, otherwise now.
func equalMap(now, shared map[string]string) map[string]string {
	if shared != nil && now != nil && maps.Equal(now, shared) {
		return shared
	}
	return now
}

// equalSlice returns shared if now is equal to it, otherwise now.
func equalSlice[E comparable](now, shared []E) []E {
	if shared != nil && now != nil && slices.Equal(now, shared) {
		return shared
	}
	return now
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
