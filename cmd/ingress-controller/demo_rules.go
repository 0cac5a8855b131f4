package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/controller/ingress"
)

// demoRules are the rules of controller/ingress/doc.go, in an order that reads well.
func demoRules() []rule {
	return []rule{
		{"An annotated Service gets an Ingress", ruleCreated},
		{"Ports and host follow the Service", ruleFollows},
		{"An Ingress deleted by hand comes back", ruleComesBack},
		{"Owned fields edited by hand are put right, all else stays", rulePutRight},
		{"The annotation set to false takes the Ingress away", ruleTakenAway},
		{"A headless Service is served; the TCP port named http wins", ruleHeadless},
		{"Bad input: one Warning Event, the last good Ingress stays", ruleBadInput},
		{"Type ExternalName removes the Ingress", ruleExternalName},
		{"Somebody else's Ingress is never touched", ruleStranger},
		{"A deleted Service's Ingress is collected with it", ruleCollected},
		{"Re-created under the same name: the new Service owns the Ingress in the end", ruleRecreated},
		{"What is being deleted is waited for", ruleWaits},
		{"A terminating namespace ends the matter quietly", ruleTerminating},
		{"429 and 500 are retried until the write is through", ruleRetried},
		{"422 rests for five minutes, or until the Service changes", ruleRests},
		{"A broken watch and a compacted history lose nothing", ruleBrokenWatch},
		{"Somebody who keeps undoing is answered ever more slowly", ruleContested},
	}
}

func (w *world) asking(svc *corev1.Service) {
	metav1.SetMetaDataAnnotation(&svc.ObjectMeta, w.config.AnnotationPrefix+"/http", "true")
}

func (w *world) serving(host string, port int32) func(*networkingv1.Ingress) error {
	return func(ing *networkingv1.Ingress) error {
		if len(ing.Spec.Rules) != 1 {
			return fmt.Errorf("want one rule, got %d", len(ing.Spec.Rules))
		}
		rule := ing.Spec.Rules[0]
		backend := rule.HTTP.Paths[0].Backend.Service
		if rule.Host != host || backend.Name != ing.Name || backend.Port.Number != port {
			return fmt.Errorf("want %s → %s:%d, got %s", host, ing.Name, port, describeIngress(ing))
		}
		if w.config.Class != "" && (ing.Spec.IngressClassName == nil || *ing.Spec.IngressClassName != w.config.Class) {
			return fmt.Errorf("want class %s, got %s", w.config.Class, describeIngress(ing))
		}
		if ref := metav1.GetControllerOf(ing); ref == nil || ref.Kind != "Service" || ref.Name != ing.Name {
			return fmt.Errorf("want Service %s to control it, got %s", ing.Name, describeIngress(ing))
		}
		return nil
	}
}

// start creates an annotated Service and waits for its Ingress.
func (w *world) start(ctx context.Context, name string) (*networkingv1.Ingress, error) {
	if err := w.createService(ctx, name, w.asking); err != nil {
		return nil, err
	}
	return w.expectIngress(ctx, name, w.serving(w.config.Host, 80))
}

func ruleCreated(ctx context.Context, w *world) error {
	if err := w.createService(ctx, "plain"); err != nil {
		return err
	}
	if err := w.expectNoIngress(ctx, "plain"); err != nil {
		return err
	}
	_, err := w.start(ctx, "web")
	return err
}

func ruleFollows(ctx context.Context, w *world) error {
	if _, err := w.start(ctx, "web"); err != nil {
		return err
	}
	err := w.updateService(ctx, "web", "changed the port to 8080 and the host to shop.example.com", func(svc *corev1.Service) {
		svc.Spec.Ports[0].Port = 8080
		svc.Annotations[w.config.AnnotationPrefix+"/host"] = "shop.example.com"
	})
	if err != nil {
		return err
	}
	_, err = w.expectIngress(ctx, "web", w.serving("shop.example.com", 8080))
	return err
}

func ruleComesBack(ctx context.Context, w *world) error {
	before, err := w.start(ctx, "web")
	if err != nil {
		return err
	}
	if err := w.deleteIngress(ctx, "web"); err != nil {
		return err
	}
	_, err = w.expectIngress(ctx, "web", func(ing *networkingv1.Ingress) error {
		if ing.UID == before.UID {
			return errors.New("it is still the old one")
		}
		return w.serving(w.config.Host, 80)(ing)
	})
	return err
}

func rulePutRight(ctx context.Context, w *world) error {
	if _, err := w.start(ctx, "web"); err != nil {
		return err
	}
	err := w.updateIngress(ctx, "web", "set another host, and added TLS, a label and an annotation", func(ing *networkingv1.Ingress) {
		ing.Spec.Rules[0].Host = "evil.example.com"
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"example.com"}, SecretName: "cert"}}
		ing.Labels = map[string]string{"team": "shop"}
		ing.Annotations = map[string]string{"nginx.ingress.kubernetes.io/rewrite-target": "/"}
	})
	if err != nil {
		return err
	}
	_, err = w.expectIngress(ctx, "web", func(ing *networkingv1.Ingress) error {
		if len(ing.Spec.TLS) != 1 || ing.Labels["team"] != "shop" || len(ing.Annotations) != 1 {
			return errors.New("what others wrote is gone")
		}
		return w.serving(w.config.Host, 80)(ing)
	})
	if err == nil {
		w.saw("TLS, label and annotation of others are still there")
	}
	return err
}

func ruleTakenAway(ctx context.Context, w *world) error {
	if _, err := w.start(ctx, "web"); err != nil {
		return err
	}
	err := w.updateService(ctx, "web", "set the annotation to false", func(svc *corev1.Service) {
		svc.Annotations[w.config.AnnotationPrefix+"/http"] = "false"
	})
	if err != nil {
		return err
	}
	return w.expectNoIngress(ctx, "web")
}

func ruleHeadless(ctx context.Context, w *world) error {
	err := w.createService(ctx, "web", w.asking, func(svc *corev1.Service) {
		svc.Spec.ClusterIP = corev1.ClusterIPNone
		svc.Spec.Ports = []corev1.ServicePort{
			{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
			{Name: "admin", Port: 9000, Protocol: corev1.ProtocolTCP},
			{Name: "http", Port: 8000, Protocol: corev1.ProtocolTCP},
		}
	})
	if err != nil {
		return err
	}
	_, err = w.expectIngress(ctx, "web", w.serving(w.config.Host, 8000))
	return err
}

func ruleBadInput(ctx context.Context, w *world) error {
	before, err := w.start(ctx, "web")
	if err != nil {
		return err
	}
	bad := func(suffix, value string) mutateService {
		return func(svc *corev1.Service) {
			w.asking(svc)
			svc.Annotations[w.config.AnnotationPrefix+"/"+suffix] = value
		}
	}
	for _, step := range []struct {
		did, reason string
		mutate      mutateService
	}{
		{"set the annotation to maybe", ingress.ReasonInvalidAnnotation, bad("http", "maybe")},
		{"set the host to no_host!", ingress.ReasonInvalidHost, bad("host", "no_host!")},
		{"left only a UDP port", ingress.ReasonNoTCPPort, func(svc *corev1.Service) {
			delete(svc.Annotations, w.config.AnnotationPrefix+"/host")
			svc.Spec.Ports = []corev1.ServicePort{{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}
		}},
	} {
		if err := w.updateService(ctx, "web", step.did, step.mutate); err != nil {
			return err
		}
		if err := w.expectWarning(ctx, "web", step.reason); err != nil {
			return err
		}
		if err := w.expectUntouched(ctx, before); err != nil {
			return err
		}
	}
	err = w.updateService(ctx, "web", "put a label on it, with the same problem as before", func(svc *corev1.Service) {
		svc.Labels = map[string]string{"team": "shop"}
	})
	if err != nil {
		return err
	}
	return w.expectWarning(ctx, "web", ingress.ReasonNoTCPPort)
}

func ruleExternalName(ctx context.Context, w *world) error {
	if _, err := w.start(ctx, "web"); err != nil {
		return err
	}
	err := w.updateService(ctx, "web", "set the type to ExternalName", func(svc *corev1.Service) {
		svc.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.org"}
	})
	if err != nil {
		return err
	}
	return w.expectNoIngress(ctx, "web")
}

func ruleStranger(ctx context.Context, w *world) error {
	prefix := networkingv1.PathTypePrefix
	var theirs *networkingv1.Ingress
	err := w.change(ctx, "Ingress", "web", "created an Ingress web that has no controller", func() (err error) {
		theirs, err = w.client.NetworkingV1().Ingresses(w.namespace).Create(ctx, &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "theirs.example.com",
				IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
					Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix,
						Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
							Name: "theirs", Port: networkingv1.ServiceBackendPort{Number: 1}}}}}}}}}},
		}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if err := w.createService(ctx, "web", w.asking); err != nil {
		return err
	}
	if err := w.expectWarning(ctx, "web", ingress.ReasonNameConflict); err != nil {
		return err
	}
	if err := w.expectUntouched(ctx, theirs); err != nil {
		return err
	}
	if err := w.deleteIngress(ctx, "web"); err != nil {
		return err
	}
	_, err = w.expectIngress(ctx, "web", w.serving(w.config.Host, 80))
	return err
}

func ruleCollected(ctx context.Context, w *world) error {
	if _, err := w.start(ctx, "web"); err != nil {
		return err
	}
	if err := w.deleteService(ctx, "web"); err != nil {
		return err
	}
	return w.expectNoIngress(ctx, "web")
}

func ruleRecreated(ctx context.Context, w *world) error {
	if _, err := w.start(ctx, "web"); err != nil {
		return err
	}
	if err := w.deleteService(ctx, "web"); err != nil {
		return err
	}
	if err := w.createService(ctx, "web", w.asking); err != nil {
		return err
	}
	svc, err := w.client.CoreV1().Services(w.namespace).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, err = w.expectIngress(ctx, "web", ownedBy(svc.UID))
	if err != nil {
		return err
	}
	events, err := w.warnings(ctx, "web")
	if err == nil && len(events) > 0 {
		err = fmt.Errorf("want no Event meanwhile, got %s", events[0].Reason)
	}
	return err
}

func ownedBy(uid types.UID) func(*networkingv1.Ingress) error {
	return func(ing *networkingv1.Ingress) error {
		if ref := metav1.GetControllerOf(ing); ref == nil || ref.UID != uid {
			return errors.New("it is not the new Service's")
		}
		return nil
	}
}
