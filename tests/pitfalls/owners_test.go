package pitfalls

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/internal/apiserver/apiservertest"
)

// A controller checks whether an annotation exists, and ignores its value.
//
// Why: people switch a feature off by writing false. A controller that checks only the key takes that for on.
//
// You see: the annotation ingress/http, true: on; false: on; none: off
//
// Instead: parse the value, and tell the user, by an Event, when it is neither true nor false.
func TestPitfall_AnnotationIsThereInsteadOfItsValue(t *testing.T) {
	naive := func(svc *corev1.Service) bool {
		_, found := svc.Annotations["ingress/http"]
		return found
	}
	right := func(svc *corev1.Service) bool {
		on, err := strconv.ParseBool(svc.Annotations["ingress/http"])
		return err == nil && on
	}
	property := func(t *testing.T, wanted func(*corev1.Service) bool) error {
		says := func(annotations map[string]string) string {
			if wanted(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}) {
				return "on"
			}
			return "off"
		}
		got := fmt.Sprintf("true: %s; false: %s; none: %s",
			says(map[string]string{"ingress/http": "true"}), says(map[string]string{"ingress/http": "false"}), says(nil))
		if got != "true: on; false: off; none: off" {
			return fmt.Errorf("the annotation ingress/http, %s", got)
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A controller deletes an object because it has the name that its own would have.
//
// Why: anybody may use a name. Here a person made an Ingress by hand before the controller started, and the controller
// deletes it.
//
// You see: an Ingress that was made by hand: want [web], got []
//
// Instead: check metav1.IsControlledBy first. Send the UID of the object that you checked as a precondition, for the
// name may belong to another object by then.
func TestPitfall_DeletingWithoutOwnership(t *testing.T) {
	naive := func(ctx context.Context, client kubernetes.Interface, svc *corev1.Service) error {
		return client.NetworkingV1().Ingresses(svc.Namespace).Delete(ctx, svc.Name, metav1.DeleteOptions{})
	}
	right := func(ctx context.Context, client kubernetes.Interface, svc *corev1.Service) error {
		ing, err := client.NetworkingV1().Ingresses(svc.Namespace).Get(ctx, svc.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil || !metav1.IsControlledBy(ing, svc) {
			return err
		}
		return client.NetworkingV1().Ingresses(svc.Namespace).Delete(ctx, svc.Name, *metav1.NewPreconditionDeleteOptions(string(ing.UID)))
	}
	property := func(t *testing.T, deleteIngressOf func(context.Context, kubernetes.Interface, *corev1.Service) error) error {
		c := startCluster(t)
		svc := c.PutService()
		c.PutIngress(metav1.NewControllerRef(svc, corev1.SchemeGroupVersion.WithKind("Service")))
		require.NoError(t, deleteIngressOf(t.Context(), c.Client, svc))
		require.Empty(t, c.Ingresses(), "its own is deleted")
		c.PutIngress(nil)
		require.NoError(t, deleteIngressOf(t.Context(), c.Client, svc))
		return unlike("an Ingress that was made by hand", []string{"web"}, c.Ingresses())
	}
	contrast(t, property, naive, right)
}

// An ownerReference has the group of another kind.
//
// Why: the server does not check it on a write. The garbage collector asks that group for the owner and finds no such
// kind, so it never learns that the owner is gone. (If it found the kind, but not the owner, it would delete the object
// at once.) Handlers that look up owners by group and kind do not find it, either.
//
// You see: the Ingress of a Service that is gone: want [], got [web]
//
// Instead: use metav1.NewControllerRef with the owner's own GroupVersion. Objects from a typed client carry neither
// apiVersion nor kind: svc.APIVersion is empty.
func TestPitfall_OwnerReferenceWithTheWrongGroup(t *testing.T) {
	naive := func(svc *corev1.Service) *metav1.OwnerReference {
		return metav1.NewControllerRef(svc, appsv1.SchemeGroupVersion.WithKind("Service"))
	}
	right := func(svc *corev1.Service) *metav1.OwnerReference {
		return metav1.NewControllerRef(svc, corev1.SchemeGroupVersion.WithKind("Service"))
	}
	property := func(t *testing.T, reference func(*corev1.Service) *metav1.OwnerReference) error {
		c := startCluster(t)
		svc := c.PutService()
		c.PutIngress(reference(svc))
		apiservertest.Pass(time.Minute)
		require.Equal(t, []string{"web"}, c.Ingresses(), "its owner exists")
		require.NoError(t, c.Client.CoreV1().Services("default").Delete(t.Context(), "web", metav1.DeleteOptions{}))
		apiservertest.Pass(time.Minute)
		return unlike("the Ingress of a Service that is gone", []string{}, c.Ingresses())
	}
	contrast(t, property, naive, right)
}

// PutService creates a Service named web.
func (c *cluster) PutService() *corev1.Service {
	c.Helper()
	svc, err := c.Client.CoreV1().Services("default").Create(c.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	return svc
}

// PutIngress creates an Ingress named web; it has no owner if owner is nil.
func (c *cluster) PutIngress(owner *metav1.OwnerReference) {
	c.Helper()
	ing := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
		}},
	}
	if owner != nil {
		ing.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	_, err := c.Client.NetworkingV1().Ingresses("default").Create(c.Context(), ing, metav1.CreateOptions{})
	require.NoError(c, err)
}

// Ingresses returns their names.
func (c *cluster) Ingresses() []string {
	c.Helper()
	list, err := c.Client.NetworkingV1().Ingresses("default").List(c.Context(), metav1.ListOptions{})
	require.NoError(c, err)
	names := []string{}
	for _, ing := range list.Items {
		names = append(names, ing.Name)
	}
	return names
}
