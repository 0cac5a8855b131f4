package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"glasswatch/tests/check/controlplane"
	"glasswatch/tests/check/manifests"
)

const finalizer = "example.com/hold"

// The rules of controller/ingress/doc.go, in the order of the demo, with the rights that deploy/ grants and no others.
func TestRules_HoldOnARealClusterWithTheRightsOfDeploy(t *testing.T) {
	c := onSharedPlane(t)
	c.install(t, manifests.Cluster, manifests.Namespace)
	p := start(t, c.plane.Kubeconfig(controlplane.Controller), deployedArgs(t, manifests.Cluster, manifests.Namespace)...)
	eventually(t, p.ready)
	eventually(t, func() error {
		return p.said("Cluster", "system:serviceaccount:glasswatch:ingress-controller", "verified")
	})
	t.Run("rules", func(t *testing.T) {
		for name, rule := range map[string]func(*stage){
			"created for who asks, and for nobody else":                ruleCreated,
			"follows port and host":                                    ruleFollows,
			"deleted by hand it comes back":                            ruleComesBack,
			"owned fields are put right, all else stays":               rulePutRight,
			"annotation false or gone takes it away":                   ruleTakenAway,
			"headless is served, the port named http wins":             ruleHeadless,
			"bad input warns, and the last good Ingress stays":         ruleBadInput,
			"ExternalName removes it":                                  ruleExternalName,
			"a stranger's is left alone":                               ruleStranger,
			"the garbage collector takes it with the Service":          ruleCollected,
			"a new Service of the name owns it in the end":             ruleRecreated,
			"what is being deleted is waited for":                      ruleWaits,
			"a terminating namespace ends the matter":                  ruleTerminating,
			"422 rests for five minutes, or until the Service changes": ruleRests,
			"who keeps undoing is reported":                            ruleContested,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				rule(&stage{c, t, c.namespace(t, "rule")})
			})
		}
	})
	eventually(t, p.ready)
	require.Error(t, p.said("is forbidden: User"), "nothing was refused for want of a right")
}

// The Deployment's Pod passes the restricted standard, which its namespace enforces.
func TestDeploy_ItsPodIsAdmitted(t *testing.T) {
	c := onSharedPlane(t)
	c.install(t, manifests.Cluster, manifests.Namespace)
	deployment, err := c.client.AppsV1().Deployments(manifests.Namespace).Get(t.Context(), "ingress-controller", metav1.GetOptions{})
	require.NoError(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: deployment.Spec.Template.Spec}
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	_, err = c.client.CoreV1().Pods(manifests.Namespace).Create(t.Context(), pod, dryRun)
	require.NoError(t, err)
	pod.Spec.SecurityContext.RunAsNonRoot = nil
	_, err = c.client.CoreV1().Pods(manifests.Namespace).Create(t.Context(), pod, dryRun)
	require.True(t, apierrors.IsForbidden(err), "the standard is enforced: %v", err)
}

func ruleCreated(s *stage) {
	s.service("plain")
	s.service("web", asking)
	s.expect("web", defaultHost, 80)
	s.settled()
	require.NoError(s.t, s.none("plain"))
}

func ruleFollows(s *stage) {
	s.service("web", asking)
	s.expect("web", defaultHost, 80)
	s.edit("web", port(8080), annotate(hostAnnotation, "shop.example.com"))
	s.expect("web", "shop.example.com", 8080)
}

func ruleComesBack(s *stage) {
	s.service("web", asking)
	before := s.expect("web", defaultHost, 80)
	s.deleteIngress("web")
	eventually(s.t, func() error {
		ing, err := s.ingress("web")
		if err == nil && ing.UID == before.UID {
			err = errStill
		}
		return err
	})
	s.expect("web", defaultHost, 80)
}

func rulePutRight(s *stage) {
	s.service("web", asking)
	s.expect("web", defaultHost, 80)
	s.editIngress("web", func(ing *networkingv1.Ingress) {
		ing.Spec.Rules[0].Host = "evil.example.com"
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"example.com"}, SecretName: "cert"}}
		ing.Labels = map[string]string{"team": "shop"}
	})
	ing := s.expect("web", defaultHost, 80)
	require.Len(s.t, ing.Spec.TLS, 1)
	require.Equal(s.t, "shop", ing.Labels["team"])
}

func ruleTakenAway(s *stage) {
	for name, edit := range map[string]editService{
		"false": annotate(httpAnnotation, "false"),
		"gone":  func(svc *corev1.Service) { delete(svc.Annotations, httpAnnotation) },
	} {
		s.service(name+"-web", asking)
		s.expect(name+"-web", defaultHost, 80)
		s.edit(name+"-web", edit)
		s.expectNone(name + "-web")
	}
}

func ruleHeadless(s *stage) {
	s.service("web", asking, func(svc *corev1.Service) {
		svc.Spec.ClusterIP = corev1.ClusterIPNone
		svc.Spec.Ports = []corev1.ServicePort{
			{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
			{Name: "admin", Port: 9000, Protocol: corev1.ProtocolTCP},
			{Name: "http", Port: 8000, Protocol: corev1.ProtocolTCP},
		}
	})
	s.expect("web", defaultHost, 8000)
}

func ruleBadInput(s *stage) {
	s.service("web", asking)
	before := s.expect("web", defaultHost, 80)
	s.edit("web", annotate(httpAnnotation, "maybe"))
	s.expectWarning("web", "InvalidAnnotation", 1)
	s.edit("web", asking, annotate(hostAnnotation, "no_host!"))
	s.expectWarning("web", "InvalidHost", 1)
	s.edit("web", func(svc *corev1.Service) {
		delete(svc.Annotations, hostAnnotation)
		svc.Spec.Ports = []corev1.ServicePort{{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}
	})
	s.expectWarning("web", "NoTCPPort", 1)
	s.edit("web", func(svc *corev1.Service) { svc.Labels = map[string]string{"team": "shop"} })
	s.untouched(before)
	s.expectWarning("web", "NoTCPPort", 1) // not again for the label
}

func ruleExternalName(s *stage) {
	s.service("web", asking)
	s.expect("web", defaultHost, 80)
	s.edit("web", func(svc *corev1.Service) {
		svc.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.org"}
	})
	s.expectNone("web")
	s.expectWarning("web", "UnsupportedType", 1)
}

func ruleStranger(s *stage) {
	theirs := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "theirs", Port: networkingv1.ServiceBackendPort{Number: 1}}}},
	}
	theirs, err := s.client.NetworkingV1().Ingresses(s.ns).Create(s.t.Context(), theirs, metav1.CreateOptions{})
	require.NoError(s.t, err)
	s.service("web", asking)
	s.expectWarning("web", "NameConflict", 1)
	s.untouched(theirs)
	s.edit("web", annotate(httpAnnotation, "false"))
	s.untouched(theirs)
	s.edit("web", asking)
	s.deleteIngress("web")
	s.expect("web", defaultHost, 80)
}

func ruleCollected(s *stage) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		s.service("web", asking)
		s.expect("web", defaultHost, 80)
		require.NoError(s.t, s.client.CoreV1().Services(s.ns).Delete(s.t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &policy}))
		s.expectNone("web")
		eventually(s.t, func() error {
			_, err := s.client.CoreV1().Services(s.ns).Get(s.t.Context(), "web", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("the Service is still there: %w", err)
		})
	}
}

func ruleRecreated(s *stage) {
	s.service("web", asking)
	s.expect("web", defaultHost, 80)
	s.deleteService("web")
	s.service("web", asking)
	s.expect("web", defaultHost, 80)
	s.expectWarning("web", "NameConflict", 0)
}

func ruleWaits(s *stage) {
	s.service("web", asking)
	s.expect("web", defaultHost, 80)
	s.editIngress("web", func(ing *networkingv1.Ingress) { ing.Finalizers = []string{finalizer} })
	s.deleteIngress("web")
	held, err := s.ingress("web")
	require.NoError(s.t, err)
	require.NotNil(s.t, held.DeletionTimestamp)
	s.edit("web", port(81))
	s.untouched(held)
	s.editIngress("web", func(ing *networkingv1.Ingress) { ing.Finalizers = nil })
	s.expect("web", defaultHost, 81)

	s.edit("web", func(svc *corev1.Service) { svc.Finalizers = []string{finalizer} })
	s.deleteService("web")
	s.settled() // of two watches either may be ahead: the Service's deletion is to be known first
	s.deleteIngress("web")
	s.settled()
	require.NoError(s.t, s.none("web"), "nothing is written for a Service that is being deleted")
	s.edit("web", func(svc *corev1.Service) { svc.Finalizers = nil })
}

func ruleTerminating(s *stage) {
	s.service("web", func(svc *corev1.Service) { svc.Finalizers = []string{finalizer} })
	s.service("shop", asking)
	s.expect("shop", defaultHost, 80)
	require.NoError(s.t, s.client.CoreV1().Namespaces().Delete(s.t.Context(), s.ns, metav1.DeleteOptions{}))
	s.edit("web", asking)
	s.edit("web", func(svc *corev1.Service) { svc.Finalizers = nil })
	eventually(s.t, func() error {
		ns, err := s.client.CoreV1().Namespaces().Get(s.t.Context(), s.ns, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the namespace is still there: %v, %w", ns.Status.Conditions, err)
	})
}

func ruleRests(s *stage) {
	s.refusePort(666)
	s.service("web", asking, port(666))
	s.expectWarning("web", "Rejected", 1)
	s.settled()
	require.NoError(s.t, s.none("web"))
	s.edit("web", port(80))
	s.expect("web", defaultHost, 80)
	s.expectWarning("web", "Rejected", 1)
}

// refusePort makes admission answer 422 to Ingresses with this port in the namespace.
func (s *stage) refusePort(number int) {
	invalid := metav1.StatusReasonInvalid
	equivalent := admissionregistrationv1.Equivalent
	policies := s.client.AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(s.t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.ns},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				MatchPolicy: &equivalent,
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{"networking.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"ingresses"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: fmt.Sprintf("object.spec.rules.all(r, r.http.paths.all(p, p.backend.service.port.number != %d))", number),
				Reason:     &invalid,
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(s.t, err)
	_, err = policies.ValidatingAdmissionPolicyBindings().Create(s.t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.ns},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: s.ns, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: s.ns}}},
		},
	}, metav1.CreateOptions{})
	require.NoError(s.t, err)
	// It takes a moment until the API server applies it.
	trial := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": map[string]any{"name": "trial"},
		"spec": map[string]any{"rules": []any{map[string]any{"http": map[string]any{"paths": []any{map[string]any{
			"path": "/", "pathType": "Prefix",
			"backend": map[string]any{"service": map[string]any{"name": "a", "port": map[string]any{"number": int64(number)}}}}}}}}},
	}}
	eventually(s.t, func() error {
		_, err := s.dynamic.Resource(networkingv1.SchemeGroupVersion.WithResource("ingresses")).Namespace(s.ns).
			Create(s.t.Context(), trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInvalid(err) {
			return nil
		}
		return fmt.Errorf("want 422, got %w", err)
	})
}

func ruleContested(s *stage) {
	s.service("web", asking)
	for range 6 {
		s.expect("web", defaultHost, 80)
		s.editIngress("web", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "theirs.example.com" })
	}
	s.expectWarning("web", "Contested", 1)
	s.expect("web", defaultHost, 80)
}
