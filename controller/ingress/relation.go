package ingress

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// relation is the relation of an Ingress to the Service of its name.
type relation int

const (
	stranger    relation = iota // controlled by another owner, or by none: never changed
	predecessor                 // controlled by an earlier Service of this name: awaits collection
	ours
)

func relate(svc *corev1.Service, ing *networkingv1.Ingress) relation {
	ref := metav1.GetControllerOf(ing)
	switch {
	case ref == nil:
		return stranger
	case ref.UID == svc.UID:
		return ours
	case ref.APIVersion == "v1" && ref.Kind == "Service" && ref.Name == svc.Name:
		return predecessor
	default:
		return stranger
	}
}

func describeController(ing *networkingv1.Ingress) string {
	if ref := metav1.GetControllerOf(ing); ref != nil {
		return fmt.Sprintf("is controlled by %s %s", ref.Kind, ref.Name)
	}
	return "has no controller"
}

// differs says whether an owned field of ing is not as d wants it. Other fields (TLS, default backend, other
// references, labels, …) are ignored.
func (d desired) differs(ing *networkingv1.Ingress) bool {
	if d.class != "" && (ing.Spec.IngressClassName == nil || *ing.Spec.IngressClassName != d.class) {
		return true
	}
	if !equality.Semantic.DeepEqual(ing.Spec.Rules, d.rules()) {
		return true
	}
	if d.label != (Label{}) && ing.Labels[d.label.Key] != d.label.Value {
		return true
	}
	want := d.ownerReference()
	for _, ref := range ing.OwnerReferences {
		if ref.UID == want.UID {
			return !equality.Semantic.DeepEqual(ref, want)
		}
	}
	return true
}
