package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"glasswatch/cmd/internal/demo"
	"glasswatch/controller/ingress"
	"glasswatch/internal/apiserver"
)

// world is what a rule can do and see. It reads the API server with a client of its own, and nothing from the
// controller's caches.
type world struct {
	client     kubernetes.Interface
	faults     *apiserver.Faults
	traces     *recorder
	config     ingress.Config
	controller *ingress.Controller

	namespace string // each rule has one of its own
	acts      []*act
}

func (w *world) begin(namespace string) { w.namespace, w.acts = namespace, nil }

func (w *world) enterNamespace(ctx context.Context) error {
	_, err := w.client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, metav1.CreateOptions{})
	return err
}

func (w *world) did(format string, args ...any) {
	w.acts = append(w.acts, &act{did: fmt.Sprintf(format, args...)})
}

func (w *world) saw(format string, args ...any) {
	a := w.acts[len(w.acts)-1]
	a.saw = append(a.saw, fmt.Sprintf(format, args...))
}

// change changes one object, and follows the change through every layer until the controller has reconciled it.
func (w *world) change(ctx context.Context, kind, name, did string, do func() error) error {
	w.did("%s", did)
	mark := w.traces.mark()
	if err := do(); err != nil {
		return err
	}
	path, err := w.traces.crossing(ctx, mark, kind, keyOf(w.namespace, name))
	w.acts[len(w.acts)-1].path = path
	if err != nil {
		return fmt.Errorf("the change of %s %s did not cross every layer: %w", kind, name, err)
	}
	return nil
}

type mutateService func(*corev1.Service)

func (w *world) createService(ctx context.Context, name string, mutate ...mutateService) error {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}},
	}
	for _, m := range mutate {
		m(svc)
	}
	return w.change(ctx, "Service", name, fmt.Sprintf("created Service %s %s", name, w.describe(svc)), func() error {
		_, err := w.client.CoreV1().Services(w.namespace).Create(ctx, svc, metav1.CreateOptions{})
		return err
	})
}

func (w *world) updateService(ctx context.Context, name, did string, mutate mutateService) error {
	return w.change(ctx, "Service", name, did, func() error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			svc, err := w.client.CoreV1().Services(w.namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			mutate(svc)
			_, err = w.client.CoreV1().Services(w.namespace).Update(ctx, svc, metav1.UpdateOptions{})
			return err
		})
	})
}

func (w *world) deleteService(ctx context.Context, name string) error {
	return w.change(ctx, "Service", name, "deleted Service "+name, func() error {
		return w.client.CoreV1().Services(w.namespace).Delete(ctx, name, metav1.DeleteOptions{})
	})
}

func (w *world) updateIngress(ctx context.Context, name, did string, mutate func(*networkingv1.Ingress)) error {
	return w.change(ctx, "Ingress", name, did, func() error {
		return w.editIngress(ctx, name, mutate)
	})
}

func (w *world) editIngress(ctx context.Context, name string, mutate func(*networkingv1.Ingress)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		ing, err := w.ingress(ctx, name)
		if err != nil {
			return err
		}
		mutate(ing)
		_, err = w.client.NetworkingV1().Ingresses(w.namespace).Update(ctx, ing, metav1.UpdateOptions{FieldManager: "by-hand"})
		return err
	})
}

func (w *world) deleteIngress(ctx context.Context, name string) error {
	return w.change(ctx, "Ingress", name, "deleted Ingress "+name, func() error {
		return w.client.NetworkingV1().Ingresses(w.namespace).Delete(ctx, name, metav1.DeleteOptions{})
	})
}

func (w *world) ingress(ctx context.Context, name string) (*networkingv1.Ingress, error) {
	return w.client.NetworkingV1().Ingresses(w.namespace).Get(ctx, name, metav1.GetOptions{})
}

// expectIngress waits until the Ingress is there and check accepts it.
func (w *world) expectIngress(ctx context.Context, name string, check func(*networkingv1.Ingress) error) (*networkingv1.Ingress, error) {
	var ing *networkingv1.Ingress
	err := demo.Eventually(ctx, func() (err error) {
		if ing, err = w.ingress(ctx, name); err == nil {
			err = check(ing)
		}
		return err
	})
	if err == nil {
		w.saw("Ingress %s: %s", name, describeIngress(ing))
	}
	return ing, err
}

func (w *world) expectNoIngress(ctx context.Context, name string) error {
	err := demo.Eventually(ctx, func() error {
		ing, err := w.ingress(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		default:
			return fmt.Errorf("there is an Ingress %s: %s", name, describeIngress(ing))
		}
	})
	if err == nil {
		w.saw("no Ingress %s", name)
	}
	return err
}

// expectUntouched wants no write of the controller, which has reconciled the key, for change waited for that.
func (w *world) expectUntouched(ctx context.Context, before *networkingv1.Ingress) error {
	now, err := w.ingress(ctx, before.Name)
	if err != nil {
		return err
	}
	if now.UID != before.UID || now.ResourceVersion != before.ResourceVersion {
		return fmt.Errorf("somebody wrote Ingress %s: rv %s, was %s", now.Name, now.ResourceVersion, before.ResourceVersion)
	}
	w.saw("Ingress %s as it was, rv %s", now.Name, now.ResourceVersion)
	return nil
}

func (w *world) warnings(ctx context.Context, name string) ([]corev1.Event, error) {
	list, err := w.client.CoreV1().Events(w.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// expectWarning waits for exactly one Event of this reason, seen once.
func (w *world) expectWarning(ctx context.Context, name, reason string) error {
	var message string
	err := demo.Eventually(ctx, func() error {
		events, err := w.warnings(ctx, name)
		if err != nil {
			return err
		}
		count := int32(0)
		for _, e := range events {
			if e.Reason == reason {
				count += e.Count
				message = e.Message
			}
		}
		if count != 1 {
			return fmt.Errorf("want one Event %s on Service %s, got %d", reason, name, count)
		}
		return nil
	})
	if err == nil {
		w.saw("Event %s: %s", reason, message)
	}
	return err
}

// expectNoFailure wants that no reconcile of this Service ended with an error.
func (w *world) expectNoFailure(name string) error {
	for _, e := range w.traces.looks(keyOf(w.namespace, name)) {
		if e.Error != "" {
			return fmt.Errorf("the controller looked and failed: %s", e.Error)
		}
	}
	return nil
}

// expectRest wants no further reconcile for as long as a few retries would take.
func (w *world) expectRest(ctx context.Context, name string) error {
	before := len(w.traces.looks(keyOf(w.namespace, name)))
	select {
	case <-time.After(200 * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	if looks := len(w.traces.looks(keyOf(w.namespace, name))); looks != before {
		return fmt.Errorf("the controller tried again, %d times", looks-before)
	}
	w.saw("no other try within 200 ms")
	return w.expectNoIngress(ctx, name)
}

func (w *world) describe(svc *corev1.Service) string {
	var parts []string
	for _, suffix := range []string{"http", "host"} {
		name := w.config.AnnotationPrefix + "/" + suffix
		if value, found := svc.Annotations[name]; found {
			parts = append(parts, fmt.Sprintf("%s=%s", name, value))
		}
	}
	for _, port := range svc.Spec.Ports {
		parts = append(parts, fmt.Sprintf("%s:%d/%s", port.Name, port.Port, port.Protocol))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func describeIngress(ing *networkingv1.Ingress) string {
	class := "no class"
	if ing.Spec.IngressClassName != nil {
		class = "class " + *ing.Spec.IngressClassName
	}
	rules := make([]string, 0, len(ing.Spec.Rules))
	for _, r := range ing.Spec.Rules {
		for _, path := range r.HTTP.Paths {
			rules = append(rules, fmt.Sprintf("%s%s → %s:%d", r.Host, path.Path, path.Backend.Service.Name, path.Backend.Service.Port.Number))
		}
	}
	owner := "no controller"
	if ref := metav1.GetControllerOf(ing); ref != nil {
		owner = "controlled by " + ref.Kind + " " + ref.Name
	}
	return fmt.Sprintf("%s, %s, %s, rv %s", class, strings.Join(rules, ", "), owner, ing.ResourceVersion)
}
