package cache

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/compat/internal/undecoded"
)

// sharedTransform calls a transform for objects that may share parts with others. Its methods are for the reflector's
// goroutine. What the transform gets may always be written to:
//
//	first list: objects 1 to 64 ──▶ a deep copy, in case it writes to parts
//	            the others      ──▶ the object, with metadata of its own; its parts are guarded
//	all later objects           ──▶ a deep copy
//
// If it has written to a part of the first list, the list is asked for again before anybody has seen it, and each
// object of that is a deep copy.
type sharedTransform struct {
	sharing   *undecoded.Sharing
	probed    int
	copiesAll bool
}

// probes is how many objects show how a transform writes.
const probes = 64

var errPartWritten = errors.New("the transform has written to a part that objects share")

func (s *sharedTransform) call(transform TransformFunc, obj object) (any, error) {
	if s.copiesAll {
		out, _, err := transformPrivately(transform, obj)
		return out, err
	}
	if s.probed < probes {
		s.probed++
		out, wrote, err := transformPrivately(transform, obj)
		s.copiesAll = wrote
		return out, err
	}
	return s.transformGuarded(transform, obj)
}

// transformGuarded calls transform with the object itself.
func (s *sharedTransform) transformGuarded(transform TransformFunc, obj object) (out any, err error) {
	of, ok := obj.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
	if !ok {
		out, _, err = transformPrivately(transform, obj)
		return out, err
	}
	shared := *of
	of.Labels, of.Annotations = maps.Clone(of.Labels), maps.Clone(of.Annotations)
	of.OwnerReferences, of.ManagedFields = slices.Clone(of.OwnerReferences), slices.Clone(of.ManagedFields)
	of.Finalizers = slices.Clone(of.Finalizers)
	if out, err = transform(obj); err == nil && out == any(obj) {
		reshare(reflect.ValueOf(of).Elem(), reflect.ValueOf(&shared).Elem())
	}
	return out, err
}

// listed is called with each complete list before anybody gets its objects. If the list must not be used, it returns an
// error.
func (s *sharedTransform) listed() error {
	wasGuarded := !s.copiesAll
	s.copiesAll = true
	if !s.sharing.Intact() && wasGuarded {
		return errPartWritten
	}
	return nil
}

// transformPrivately calls transform with a deep copy of an object, and reports whether it has written to parts.
//
//	shared object ──deep copy──▶ transform ──▶ what is still equal is replaced by the shared part
//
// Only the copy's own struct is written to afterwards. What its fields point to may be the transform's, and so may be
// another object that it returns.
func transformPrivately(transform TransformFunc, shared object) (out any, wrote bool, err error) {
	private := shared.DeepCopyObject()
	out, err = transform(private)
	if err == nil && out == any(private) {
		wrote = reshare(reflect.ValueOf(private).Elem(), reflect.ValueOf(shared).Elem())
	}
	return out, wrote, err
}

// reshare replaces what the fields of a struct, and of structs in it, point to by what is equal in shared. It reports
// whether something was neither equal nor nil, metadata apart.
func reshare(private, shared reflect.Value) (differs bool) {
	for i := range private.NumField() {
		to, from := private.Field(i), shared.Field(i)
		switch {
		case !to.CanSet():
		case to.Kind() == reflect.Struct:
			if reshare(to, from) && to.Type() != typeOfMetadata {
				differs = true
			}
		case to.Kind() == reflect.Map || to.Kind() == reflect.Slice || to.Kind() == reflect.Pointer:
			switch {
			case to.IsNil():
			case equalParts(to, from):
				to.Set(from)
			default:
				differs = true
			}
		}
	}
	return differs
}
