package ingress

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// relation is the relation of an Ingress to the Service of its name.
type relation int

const (
	stranger    relation = iota // controlled by another owner or by none, or made by another program: never changed
	predecessor                 // controlled by an earlier Service of this name: awaits collection
	ours
	unclaimed // ours if the Service asks this controller for it: made when field managers did not name the prefix
)

func (c Config) relate(svc *corev1.Service, ing *networkingv1.Ingress) relation {
	ref, maker := metav1.GetControllerOf(ing), makerOf(ing)
	switch {
	case ref == nil:
		return stranger
	case ref.UID == svc.UID && maker == c.fieldManager():
		return ours
	case ref.UID == svc.UID && maker == FieldManager:
		return unclaimed
	case ref.UID == svc.UID:
		return stranger
	case ref.APIVersion == "v1" && ref.Kind == "Service" && ref.Name == svc.Name:
		return predecessor
	default:
		return stranger
	}
}

// makerOf returns the field manager of the ingress controller that wrote ing, "" if none did. The controller's reference
// alone does not tell: other programs also make Ingresses that a Service controls.
func makerOf(ing *networkingv1.Ingress) string {
	maker := ""
	for _, entry := range ing.ManagedFields {
		if strings.HasPrefix(entry.Manager, FieldManager+"-") {
			return entry.Manager
		}
		if entry.Manager == FieldManager {
			maker = FieldManager
		}
	}
	return maker
}

func describeStranger(svc *corev1.Service, ing *networkingv1.Ingress) string {
	ref := metav1.GetControllerOf(ing)
	switch {
	case ref == nil:
		return "has no controller"
	case ref.UID == svc.UID:
		return "was made by another program"
	default:
		return fmt.Sprintf("is controlled by %s %s", ref.Kind, ref.Name)
	}
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
