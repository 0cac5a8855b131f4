// Package ingresstest is a cluster in virtual time, with moves that change it and a check of the ingress rules, for the
// tests of the ingress controller and of what is put around it. It does not use the controller's code: its check is a
// second, simple version of the rules.
package ingresstest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"glasswatch/internal/apiserver"
)

// Class and Host are those that [World.Check] expects, and the annotations' prefix is "ingress".
const (
	Class = "nginx"
	Host  = "example.com"
)

// Move is one change of the cluster. The meaning of Value depends on the kind.
type Move struct {
	Kind  string
	Name  string
	Value int
}

var (
	moveKinds = []string{
		"create", "create", "annotate", "delete service", "port", "external name",
		"delete ingress", "edit ingress", "orphan ingress", "create stranger", "delete stranger",
		"fail", "tear", "drop watches", "break watches", "expire watches", "compact", "cut frame", "garble frame", "pause",
	}
	moveNames   = []string{"a", "b", "c"}
	annotations = []string{"true", "false", "maybe", ""}
)

// DrawMoves draws up to 40 moves.
func DrawMoves(t *rapid.T) []Move {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Move {
		return Move{
			Kind:  rapid.SampledFrom(moveKinds).Draw(t, "kind"),
			Name:  rapid.SampledFrom(moveNames).Draw(t, "name"),
			Value: rapid.IntRange(0, 3).Draw(t, "value"),
		}
	}), 1, 40).Draw(t, "moves")
}

// World is a cluster with the controller at work on it.
type World struct {
	Server *apiserver.Server
	Client kubernetes.Interface

	garbled bool
}

// Serve serves until ctx ends, in the bubble of its caller; what Serve returned comes out of served.
func Serve(ctx context.Context, t *testing.T) (world *World, cfg *rest.Config, served <-chan error) {
	t.Helper()
	listener := apiserver.NewPipeListener()
	server := apiserver.New(apiserver.Options{})
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	cfg = server.RESTConfigFor(listener)
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	return &World{Server: server, Client: client}, cfg, done
}

// Play makes the move if it is possible, and else does nothing.
func (c *World) Play(ctx context.Context, m Move) error {
	faults := c.Server.Faults()
	switch m.Kind {
	case "fail":
		codes := []int{http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusForbidden}
		faults.FailNext(m.Value+1, apiserver.Failure{Verb: verbOf(m.Name), Resource: "ingresses", Code: codes[m.Value]})
	case "tear":
		faults.FailNext(1, apiserver.Failure{Verb: verbOf(m.Name), Resource: "ingresses"})
	case "drop watches":
		faults.DropWatches()
	case "break watches":
		faults.BreakWatches()
	case "expire watches":
		faults.ExpireWatches()
	case "compact":
		faults.Compact()
	case "cut frame":
		faults.CutNextFrame()
	case "garble frame":
		// Once, for the reflector repeats a request after garbage once. So an event that is garbled twice is lost, by
		// contract.
		if !c.garbled {
			c.garbled = true
			faults.GarbleNextFrame()
		}
	case "pause":
		<-time.After([]time.Duration{time.Millisecond, 50 * time.Millisecond, time.Second, time.Minute}[m.Value])
	case "delete ingress", "edit ingress", "orphan ingress", "create stranger", "delete stranger":
		return benign(c.playIngress(ctx, m))
	default:
		return benign(c.playService(ctx, m))
	}
	return nil
}

// verbOf: a failure is for one of the verbs that the controller writes with, never for those of the test's own reads.
func verbOf(name string) string {
	return map[string]string{"a": "create", "b": "patch", "c": "watch"}[name]
}

// benign reports an expected error: the object is missing, exists already or has changed, or the failure was planned.
func benign(err error) error {
	if _, torn := errors.AsType[*url.Error](err); torn {
		return nil
	}
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

func (c *World) playService(ctx context.Context, m Move) error {
	services := c.Client.CoreV1().Services("default")
	if m.Kind == "create" {
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: m.Name, Annotations: map[string]string{"ingress/http": annotations[m.Value]}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{TCP("http", 80)}},
		}
		_, err := services.Create(ctx, svc, metav1.CreateOptions{})
		return err
	}
	if m.Kind == "delete service" {
		return services.Delete(ctx, m.Name, metav1.DeleteOptions{})
	}
	svc, err := services.Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	switch m.Kind {
	case "annotate":
		metav1.SetMetaDataAnnotation(&svc.ObjectMeta, "ingress/http", annotations[m.Value])
	case "port":
		svc.Spec.Ports = []corev1.ServicePort{TCP("http", int32(81+m.Value))}
	case "external name":
		svc.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.org"}
	}
	_, err = services.Update(ctx, svc, metav1.UpdateOptions{})
	return err
}

func (c *World) playIngress(ctx context.Context, m Move) error {
	ingresses := c.Client.NetworkingV1().Ingresses("default")
	if m.Kind == "create stranger" {
		ing := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: map[string]string{"stranger": "yes"}},
			Spec:       networkingv1.IngressSpec{Rules: Rules("theirs", "theirs", 1)},
		}
		_, err := ingresses.Create(ctx, ing, metav1.CreateOptions{})
		return err
	}
	ing, err := ingresses.Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	switch isStranger := ing.Labels["stranger"] != ""; {
	case m.Kind == "delete ingress" && !isStranger, m.Kind == "delete stranger" && isStranger:
		return ingresses.Delete(ctx, m.Name, metav1.DeleteOptions{})
	case isStranger, m.Kind == "delete ingress", m.Kind == "delete stranger":
		return nil
	case m.Kind == "edit ingress":
		ing.Spec.Rules[0].Host = fmt.Sprintf("edited-%d", m.Value)
	case m.Kind == "orphan ingress":
		ing.OwnerReferences = nil
		ing.Labels = map[string]string{"stranger": "yes"}
	}
	_, err = ingresses.Update(ctx, ing, metav1.UpdateOptions{})
	return err
}

// Check compares every Ingress with what its Service asks for.
func (c *World) Check(ctx context.Context) error {
	for _, name := range moveNames {
		svc, err := c.Client.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			svc = nil
		} else if err != nil {
			return err
		}
		ing, err := c.Client.NetworkingV1().Ingresses("default").Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			ing = nil
		} else if err != nil {
			return err
		}
		if err := checkPair(svc, ing); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func checkPair(svc *corev1.Service, ing *networkingv1.Ingress) error {
	if ing != nil && ing.Labels["stranger"] != "" {
		if metav1.GetControllerOf(ing) != nil {
			return errors.New("a stranger was adopted")
		}
		return nil
	}
	if svc == nil || svc.Spec.Type == corev1.ServiceTypeExternalName || svc.Annotations["ingress/http"] == "false" {
		if ing != nil {
			return errors.New("its Ingress is still there")
		}
		return nil
	}
	switch svc.Annotations["ingress/http"] {
	case "true":
		if ing == nil {
			return errors.New("it has no Ingress")
		}
	default:
		if ing == nil {
			return nil // it may have none; if it has one, that is its own
		}
	}
	if ref := metav1.GetControllerOf(ing); ref == nil || ref.UID != svc.UID {
		return fmt.Errorf("its Ingress is controlled by %+v", ref)
	}
	if svc.Annotations["ingress/http"] != "true" {
		return nil
	}
	if class := ing.Spec.IngressClassName; class == nil || *class != Class {
		return fmt.Errorf("want the class %s, got %v", Class, class)
	}
	if want := Rules(Host, svc.Name, svc.Spec.Ports[0].Port); !equality.Semantic.DeepEqual(want, ing.Spec.Rules) {
		return fmt.Errorf("want %+v, got %+v", want, ing.Spec.Rules)
	}
	if !slices.ContainsFunc(ing.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return equality.Semantic.DeepEqual(ref, OwnedBy(svc.Name, svc.UID)[0])
	}) {
		return fmt.Errorf("it has the owners %+v", ing.OwnerReferences)
	}
	return nil
}

// TCP is a port of a Service.
func TCP(name string, port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: port, Protocol: corev1.ProtocolTCP}
}

// Rules lead everything that a host is asked for to a Service.
func Rules(host, service string, port int32) []networkingv1.IngressRule {
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: service, Port: networkingv1.ServiceBackendPort{Number: port},
	}}
	return []networkingv1.IngressRule{{
		Host: host,
		IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
			Paths: []networkingv1.HTTPIngressPath{
				{Path: "/", PathType: new(networkingv1.PathTypePrefix), Backend: backend},
			},
		}},
	}}
}

// OwnedBy are the references of an Ingress that a Service controls.
func OwnedBy(service string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Service", Name: service, UID: uid, Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}
