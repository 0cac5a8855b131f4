package e2e

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// stage is one namespace, in which a user of the cluster acts and looks.
type stage struct {
	*cluster
	t  *testing.T
	ns string
}

const (
	httpAnnotation = "ingress/http"
	hostAnnotation = "ingress/host"
	defaultHost    = "example.com"
)

type editService = func(*corev1.Service)

func asking(svc *corev1.Service) { annotate(httpAnnotation, "true")(svc) }

func annotate(name, value string) editService {
	return func(svc *corev1.Service) { metav1.SetMetaDataAnnotation(&svc.ObjectMeta, name, value) }
}

func port(number int32) editService {
	return func(svc *corev1.Service) { svc.Spec.Ports[0].Port = number }
}

// service makes one with port 80.
func (s *stage) service(name string, edits ...editService) *corev1.Service {
	s.t.Helper()
	svc, err := s.client.CoreV1().Services(s.ns).Create(s.t.Context(), newService(name, edits...), metav1.CreateOptions{})
	require.NoError(s.t, err)
	return svc
}

func newService(name string, edits ...editService) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}},
	}
	for _, edit := range edits {
		edit(svc)
	}
	return svc
}

func (s *stage) edit(name string, edits ...editService) {
	s.t.Helper()
	require.NoError(s.t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		svc, err := s.client.CoreV1().Services(s.ns).Get(s.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, edit := range edits {
			edit(svc)
		}
		_, err = s.client.CoreV1().Services(s.ns).Update(s.t.Context(), svc, metav1.UpdateOptions{})
		return err
	}))
}

func (s *stage) deleteService(name string) {
	s.t.Helper()
	require.NoError(s.t, s.client.CoreV1().Services(s.ns).Delete(s.t.Context(), name, metav1.DeleteOptions{}))
}

func (s *stage) ingress(name string) (*networkingv1.Ingress, error) {
	return s.client.NetworkingV1().Ingresses(s.ns).Get(s.t.Context(), name, metav1.GetOptions{})
}

func (s *stage) editIngress(name string, edit func(*networkingv1.Ingress)) {
	s.t.Helper()
	require.NoError(s.t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		ing, err := s.ingress(name)
		if err != nil {
			return err
		}
		edit(ing)
		_, err = s.client.NetworkingV1().Ingresses(s.ns).Update(s.t.Context(), ing, metav1.UpdateOptions{FieldManager: "by-hand"})
		return err
	}))
}

func (s *stage) deleteIngress(name string) {
	s.t.Helper()
	require.NoError(s.t, s.client.NetworkingV1().Ingresses(s.ns).Delete(s.t.Context(), name, metav1.DeleteOptions{}))
}

// expect waits for the Service's Ingress, and gives it.
func (s *stage) expect(name, host string, port int32) (ing *networkingv1.Ingress) {
	s.t.Helper()
	eventually(s.t, func() error {
		svc, err := s.client.CoreV1().Services(s.ns).Get(s.t.Context(), name, metav1.GetOptions{})
		if err == nil {
			ing, err = s.ingress(name)
		}
		if err == nil {
			err = serves(ing, svc, host, port)
		}
		return err
	})
	return ing
}

// serves wants the Ingress to be all that the Service asks for.
func serves(ing *networkingv1.Ingress, svc *corev1.Service, host string, port int32) error {
	if len(ing.Spec.Rules) != 1 || ing.Spec.IngressClassName == nil || *ing.Spec.IngressClassName != "nginx" {
		return fmt.Errorf("want one rule of class nginx, got %v", ing.Spec)
	}
	rule := ing.Spec.Rules[0]
	backend := rule.HTTP.Paths[0].Backend.Service
	if rule.Host != host || backend.Name != svc.Name || backend.Port.Number != port {
		return fmt.Errorf("want %s → %s:%d, got %s → %s:%d", host, svc.Name, port, rule.Host, backend.Name, backend.Port.Number)
	}
	ref := metav1.GetControllerOf(ing)
	if ref == nil || ref.UID != svc.UID || ref.APIVersion != "v1" || ref.Kind != "Service" || !*ref.BlockOwnerDeletion {
		return fmt.Errorf("want Service %s to own it, got %v", svc.Name, ing.OwnerReferences)
	}
	return nil
}

func (s *stage) expectNone(name string) {
	s.t.Helper()
	eventually(s.t, func() error { return s.none(name) })
}

func (s *stage) none(name string) error {
	ing, err := s.ingress(name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("there is an Ingress %s: %v", name, ing.Spec.Rules)
	}
}

// expectWarning waits until the Events about the Service count this reason so often.
func (s *stage) expectWarning(name, reason string, times int32) {
	s.t.Helper()
	eventually(s.t, func() error {
		events, err := s.client.CoreV1().Events(s.ns).List(s.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			return err
		}
		count := int32(0)
		for _, event := range events.Items {
			if event.Reason == reason && event.Type == corev1.EventTypeWarning {
				count += event.Count
			}
		}
		if count != times {
			return fmt.Errorf("want %d Events %s, got %d", times, reason, count)
		}
		return nil
	})
}

// settled waits until what the controller was given so far has been worked on: a Service that is made now has its Ingress.
func (s *stage) settled() {
	s.t.Helper()
	probe := s.service("probe", asking)
	s.expect(probe.Name, defaultHost, 80)
	s.deleteService(probe.Name)
	s.expectNone(probe.Name)
}

func (s *stage) untouched(before *networkingv1.Ingress) {
	s.t.Helper()
	s.settled()
	now, err := s.ingress(before.Name)
	require.NoError(s.t, err)
	require.Equal(s.t, before.ResourceVersion, now.ResourceVersion)
	require.Equal(s.t, before.UID, now.UID)
}

var errStill = errors.New("it is still the old one")
