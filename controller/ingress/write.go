package ingress

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
)

// FieldManager is the name under which the API server records this controller's fields of an Ingress. With another
// prefix than the default, "-" and the prefix follow.
const FieldManager = "glasswatch-ingress"

func (c Config) fieldManager() string {
	if c.AnnotationPrefix == DefaultAnnotationPrefix {
		return FieldManager
	}
	name := FieldManager + "-" + c.AnnotationPrefix
	return name[:min(len(name), validation.FieldManagerMaxLength)]
}

// create posts the Ingress. An apply would do the same, but it would also adopt an Ingress of that name that was
// created meanwhile.
func (l *attempt) create(ctx context.Context, d desired) (*networkingv1.Ingress, error) {
	ing := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Name: l.key.Name, Namespace: l.key.Namespace, Labels: d.label.labels(),
			OwnerReferences: []metav1.OwnerReference{d.ownerReference()},
		},
		Spec: networkingv1.IngressSpec{Rules: d.rules()},
	}
	if d.class != "" {
		ing.Spec.IngressClassName = &d.class
	}
	return l.client.Ingresses(l.key.Namespace).Create(ctx, ing, metav1.CreateOptions{FieldManager: l.config.fieldManager()})
}

// correct applies the owned fields, and only those, by force. With the uid the server refuses if another Ingress has
// taken the name. With the resourceVersion it refuses if this one was orphaned, so an orphan is not adopted.
func (l *attempt) correct(ctx context.Context, d desired) (*networkingv1.Ingress, error) {
	ref := d.ownerReference()
	spec := networkingv1ac.IngressSpec().WithRules(
		networkingv1ac.IngressRule().WithHost(d.host).WithHTTP(
			networkingv1ac.HTTPIngressRuleValue().WithPaths(
				networkingv1ac.HTTPIngressPath().WithPath("/").WithPathType(networkingv1.PathTypePrefix).WithBackend(
					networkingv1ac.IngressBackend().WithService(
						networkingv1ac.IngressServiceBackend().WithName(d.owner.name).WithPort(
							networkingv1ac.ServiceBackendPort().WithNumber(d.port)))))))
	if d.class != "" {
		spec = spec.WithIngressClassName(d.class)
	}
	patch := networkingv1ac.Ingress(l.ing.Name, l.ing.Namespace).WithUID(l.ing.UID).WithResourceVersion(l.ing.ResourceVersion).WithSpec(spec).
		WithLabels(d.label.labels()).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(ref.APIVersion).WithKind(ref.Kind).WithName(ref.Name).WithUID(ref.UID).
			WithController(true).WithBlockOwnerDeletion(true))
	return l.client.Ingresses(l.ing.Namespace).Apply(ctx, patch, metav1.ApplyOptions{FieldManager: l.config.fieldManager(), Force: true})
}

// remove deletes this Ingress only if it is unchanged. It deletes neither another one of the same name, nor this one if
// it was orphaned meanwhile.
func (l *attempt) remove(ctx context.Context, ing *networkingv1.Ingress) error {
	return l.client.Ingresses(ing.Namespace).Delete(ctx, ing.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &ing.UID, ResourceVersion: &ing.ResourceVersion},
	})
}
