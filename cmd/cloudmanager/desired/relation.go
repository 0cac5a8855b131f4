package desired

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
)

// Relation is whose an object of a child's name is.
type Relation int

const (
	Foreign     Relation = iota // somebody else's: never changed
	Predecessor                 // of an earlier CloudManager of this name: the garbage collector takes it
	Ours
)

// Relate tells whose obj is. A Secret is recognized by its labels alone, for without them the cache has none
// of its data. Everything else is recognized by its controller.
func Relate(cm *v1.CloudManager, obj Object) Relation {
	if _, ok := obj.(*corev1.Secret); ok {
		if labels.SelectorFromSet(labelsOf(cm, obj.GetName())).Matches(labels.Set(obj.GetLabels())) {
			return Ours
		}
		return Foreign
	}
	switch ref := metav1.GetControllerOfNoCopy(obj); {
	case ref == nil:
		return Foreign
	case ref.UID == cm.UID:
		return Ours
	case ref.APIVersion == v1.GroupVersion.String() && ref.Kind == v1.Kind.Kind && ref.Name == cm.Name:
		return Predecessor
	default:
		return Foreign
	}
}

// Open reports whether the gate behind obj is open, and if not, why. A Deployment or StatefulSet opens it when more
// than half of its replicas are ready, by a status that is about the present spec. Everything else opens it at once.
func Open(obj Object) (open bool, why string) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return gate("deployment", o, o.Spec.Replicas, o.Status.ReadyReplicas, o.Status.ObservedGeneration)
	case *appsv1.StatefulSet:
		return gate("statefulset", o, o.Spec.Replicas, o.Status.ReadyReplicas, o.Status.ObservedGeneration)
	default:
		return true, ""
	}
}

func gate(kind string, obj Object, replicas *int32, ready int32, observed int64) (bool, string) {
	wanted := ptr.Deref(replicas, 1) // the API server's default
	needed := wanted/2 + 1
	switch {
	case wanted > 0 && observed < obj.GetGeneration():
		return false, fmt.Sprintf("%s %q: its controller has not seen the last change", kind, obj.GetName())
	case wanted > 0 && ready < needed:
		name := obj.GetName()
		return false, fmt.Sprintf("%s %q: %d of %d replicas ready, %d needed", kind, name, ready, wanted, needed)
	}
	return true, ""
}

// Unchangeable returns the problem of a StatefulSet that lacks a storage field of the spec. It cannot get it any more,
// since the API server refuses each change of a claim template. There is none for other objects.
func Unchangeable(cm *v1.CloudManager, obj Object) []Problem {
	s, ok := obj.(*appsv1.StatefulSet)
	if !ok {
		return nil
	}
	var have corev1.PersistentVolumeClaimSpec
	if claims := s.Spec.VolumeClaimTemplates; len(claims) > 0 {
		have = claims[0].Spec
	}
	var fields []string
	want := cm.Spec.DB.StatefulSet.Storage
	if !ptr.Equal(have.StorageClassName, want.Class) {
		fields = append(fields, "storage.class")
	}
	if !slices.Equal(have.AccessModes, want.AccessModes) {
		fields = append(fields, "storage.accessModes")
	}
	if size := have.Resources.Requests[corev1.ResourceStorage]; size.Cmp(want.Size) != 0 {
		fields = append(fields, "storage.size")
	}
	if len(fields) == 0 {
		return nil
	}
	const what = "statefulset %q cannot change %s; a new name makes a new database"
	return []Problem{{ReasonUnchangeable, fmt.Sprintf(what, s.Name, strings.Join(fields, ", "))}}
}

// Validate returns what is wrong with a spec that the schema lets pass. No error contains a value of rootPass.
func Validate(cm *v1.CloudManager) error {
	var errs []error
	if len(SecretName(cm.Name)) > 63 {
		errs = append(errs, errors.New("metadata.name: want at most 59 characters, for <name>auth is a label's value"))
	}
	// The Service of the database selects Pods by name, so it must not find those of a Deployment.
	front, identity := cm.Spec.Front.Deployment.Name, cm.Spec.Identity.Deployment.Name
	if db := cm.Spec.DB.StatefulSet.Name; front == identity || identity == db || db == front {
		errs = append(errs, errors.New("spec: want three different names for front, identity and database"))
	}
	if cm.Spec.DB.RootPass != "" && cm.Spec.DB.RootPasswordSecretRef != nil {
		errs = append(errs, errors.New("spec.db: want at most one of rootPass and rootPasswordSecretRef"))
	}
	return errors.Join(errs...)
}
