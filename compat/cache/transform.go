package cache

import (
	"errors"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/compat/internal/undecoded"
)

// sharedTransform calls a transform for objects that may share parts with others. Its methods are for the reflector's
// goroutine.
//
//	first list: objects 1 to 64 ──▶ a deep copy, which shows what the transform changes
//	            the others      ──▶ a deep copy, if that was more than metadata
//	                                else the object, with metadata of its own; shared parts are guarded
//	all later objects           ──▶ a deep copy
//
// If the transform has then changed more of an object itself, has failed or returned another object, the list is asked
// for again before anybody has seen it, and each object of that is a deep copy.
type sharedTransform struct {
	sharing   *undecoded.Sharing
	probed    int
	copiesAll bool
	refused   bool // the list that is under way must not be used
}

// probes is how many objects show what a transform changes.
const probes = 64

var errNotMetadataAlone = errors.New("the transform has changed more than metadata, failed, or returned another object")

func (s *sharedTransform) call(transform TransformFunc, obj object) (out any, err error) {
	if s.copiesAll || s.probed < probes {
		s.probed++
		out, changed, err := transformPrivately(transform, obj)
		if changed {
			s.copyAll()
		}
		return out, err
	}
	out, changed, err := transformItself(transform, obj)
	if changed {
		s.refuse()
	}
	return out, err
}

func (s *sharedTransform) copyAll() {
	s.copiesAll = true
	s.sharing.Guard(false)
}

func (s *sharedTransform) refuse() {
	s.copyAll()
	s.sharing.Renew()
	s.refused = true
}

// begins is called before each list. If another list was given up, nobody has got an object of that, and the parts may
// have been written to.
func (s *sharedTransform) begins() {
	s.refused = false
	if !s.copiesAll {
		s.sharing.Renew()
	}
}

// ends is called with each complete list before anybody gets its objects. If the list must not be used, it returns an
// error.
func (s *sharedTransform) ends() error {
	if s.probed == probes && !s.sharing.Intact() {
		s.refuse()
	}
	s.copyAll()
	if s.refused {
		return errNotMetadataAlone
	}
	return nil
}

// transformPrivately calls transform with a deep copy of an object.
//
//	shared object ──deep copy──▶ transform ──▶ what is still equal is replaced by the shared part
//
// Only the copy's own struct is written to afterwards. What its fields point to may be the transform's, and so may be
// another object that it returns. The bool is false if transform has returned the copy with nothing but metadata
// changed.
func transformPrivately(transform TransformFunc, shared object) (any, bool, error) {
	private := shared.DeepCopyObject()
	to, from := reflect.ValueOf(private).Elem(), reflect.ValueOf(shared).Elem()
	before := reflect.New(to.Type()).Elem()
	before.Set(to)
	out, err := transform(private)
	if err != nil || out != any(private) {
		return out, true, err
	}
	same := sameFields(to, before, true) // also not replaced by what is equal
	reshare(to, from)
	return out, !same || !sameFields(to, from, true), nil
}

// transformItself calls transform with the object itself. The bool is false if transform has returned it with nothing
// but metadata changed, as far as the object's own struct shows it.
func transformItself(transform TransformFunc, obj object) (any, bool, error) {
	fields := reflect.ValueOf(obj).Elem()
	before := reflect.New(fields.Type()).Elem()
	before.Set(fields)
	of := obj.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta) // all of client-go's types have it
	shared := *of
	shared.DeepCopyInto(of)
	out, err := transform(obj)
	if err != nil || out != any(obj) {
		return out, true, err
	}
	reshare(reflect.ValueOf(of).Elem(), reflect.ValueOf(&shared).Elem())
	return out, !sameFields(fields, before, true), nil
}

// reshare replaces what the fields of a struct, and of structs in it, point to by what is equal in shared.
func reshare(private, shared reflect.Value) {
	for i := range private.NumField() {
		to, from := private.Field(i), shared.Field(i)
		switch {
		case !to.CanSet():
		case to.Kind() == reflect.Struct:
			reshare(to, from)
		case to.Kind() == reflect.Map || to.Kind() == reflect.Slice || to.Kind() == reflect.Pointer:
			if !to.IsNil() && equalParts(to, from) {
				to.Set(from)
			}
		}
	}
}

// sameFields reports whether the fields of two structs, and of structs in them, are identical. If they are objects, their
// metadata do not count.
func sameFields(a, b reflect.Value, areObjects bool) bool {
	for i := range a.NumField() {
		x, y := a.Field(i), b.Field(i)
		same := false
		switch x.Kind() {
		case reflect.Struct:
			same = areObjects && x.Type() == typeOfMetadata || sameFields(x, y, false)
		case reflect.Slice:
			same = x.Len() == y.Len() && x.UnsafePointer() == y.UnsafePointer()
		case reflect.Map:
			same = x.UnsafePointer() == y.UnsafePointer()
		case reflect.Interface:
			same = x.IsNil() && y.IsNil()
		default:
			same = x.Equal(y)
		}
		if !same {
			return false
		}
	}
	return true
}
