package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"glasswatch/tests/check/controlplane"
	"glasswatch/tests/check/manifests"
)

// need is a right of deploy/, and the effect of its absence.
type need struct {
	resource, verb string
	// also are rights that are taken away with it, because they would do instead.
	also string
	// provoke does what the right is needed for.
	provoke func(s *stage)
	// missed is how the want of it shows; nil is by a line of the log.
	missed func(p *process) error
	// ends is set where the process does not go on without it.
	ends bool
	// healed is the condition that holds once the right is granted.
	healed func(s *stage, p *process)
}

// refusal is what the API server says.
func (n need) refusal() string { return fmt.Sprintf("cannot %s resource %q", n.verb, n.resource) }

func (n need) unready(p *process) error { return p.unready(n.refusal()) }

func (n need) dropped(resource, verb string) bool {
	return resource == n.resource && (verb == n.verb || verb == n.also)
}

func nothing(*stage) {}

func served(s *stage, p *process) {
	eventually(s.t, p.ready)
	s.service("later", asking)
	s.expect("later", defaultHost, 80)
}

func needs() []need {
	var all []need
	for _, resource := range []string{"services", "ingresses"} {
		for _, n := range []need{
			{resource: resource, verb: "watch"},
			// A server with streaming lists treats them as watches; without both rights the error names the list.
			{resource: resource, verb: "list", also: "watch"},
		} {
			n.provoke, n.missed, n.healed = nothing, n.unready, served
			all = append(all, n)
		}
	}
	started := func(s *stage) {
		s.service("web", asking)
		s.expect("web", defaultHost, 80)
	}
	lease := func(verb string) need {
		n := need{resource: "leases", verb: verb, provoke: nothing, healed: served}
		n.missed = n.unready
		return n
	}
	update := lease("update")
	update.ends = true // it made the lease, and cannot renew it
	update.missed = func(p *process) error { return p.said("cannot update resource", "leases") }
	return append(all, lease("get"), lease("create"), update,
		need{resource: "ingresses", verb: "create",
			provoke: func(s *stage) { s.service("web", asking) },
			healed:  func(s *stage, _ *process) { s.expect("web", defaultHost, 80) }},
		need{resource: "ingresses", verb: "patch",
			provoke: func(s *stage) { started(s); s.edit("web", port(81)) },
			healed:  func(s *stage, _ *process) { s.expect("web", defaultHost, 81) }},
		need{resource: "ingresses", verb: "delete",
			provoke: func(s *stage) { started(s); s.edit("web", annotate(httpAnnotation, "false")) },
			healed:  func(s *stage, _ *process) { s.expectNone("web") }},
		need{resource: "services/finalizers", verb: "update",
			provoke: func(s *stage) { s.service("web", asking) },
			missed: func(p *process) error {
				return p.said("cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on")
			},
			healed: func(s *stage, _ *process) { s.expect("web", defaultHost, 80) }},
		// An Event that was refused is not sent again: the next one is.
		need{resource: "events", verb: "create",
			provoke: func(s *stage) { s.service("web", annotate(httpAnnotation, "maybe")) },
			healed: func(s *stage, _ *process) {
				s.service("late", annotate(httpAnnotation, "maybe"))
				s.expectWarning("late", "InvalidAnnotation", 1)
			}},
		need{resource: "events", verb: "patch",
			provoke: func(s *stage) {
				s.service("web", annotate(httpAnnotation, "maybe"))
				s.expectWarning("web", "InvalidAnnotation", 1)
				s.again()
			},
			healed: func(s *stage, _ *process) {
				s.again()
				s.expectWarning("web", "InvalidAnnotation", 3)
			}},
	)
}

// again makes the controller say of Service web what it has said before, after something else.
func (s *stage) again() {
	s.edit("web", asking, annotate(hostAnnotation, "no_host!"))
	eventually(s.t, func() error {
		events, err := s.client.CoreV1().Events(s.ns).List(s.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=web,reason=InvalidHost"})
		if err == nil && len(events.Items) == 0 {
			err = errors.New("no Event InvalidHost yet")
		}
		return err
	})
	s.edit("web", annotate(httpAnnotation, "maybe"))
}

func TestRights_EachIsNeededIsNamedWhenItIsMissingAndHealsWhenItIsGranted(t *testing.T) {
	t.Parallel()
	c := onSharedPlane(t)
	all := needs()
	requireEveryRight(t, all)
	for _, n := range all {
		t.Run(n.verb+" "+n.resource, func(t *testing.T) {
			t.Parallel()
			s := &stage{c, t, c.namespace(t, "rights")}
			c.apply(t, manifestsOf(t, manifests.Namespaced, s.ns, n.dropped))
			args := deployedArgs(t, manifests.Namespaced, s.ns)
			lease := steadyLease
			if n.ends {
				lease = briefLease
			}
			p := start(t, c.kubeconfigOf(t, s.ns), slices.Concat(args, lease)...)
			n.provoke(s)
			eventually(t, func() error {
				if n.missed != nil {
					return n.missed(p)
				}
				return p.said(n.refusal())
			})
			if n.ends {
				p.ends()
				require.Contains(t, p.log.String(), "the lease was lost")
				p = start(t, c.kubeconfigOf(t, s.ns), slices.Concat(args, steadyLease)...)
			}
			c.install(t, manifests.Namespaced, s.ns)
			n.healed(s, p)
			require.True(t, p.alive())
		})
	}
}

// requireEveryRight holds the table against the roles.
func requireEveryRight(t *testing.T, all []need) {
	t.Helper()
	covered := map[string]bool{}
	for _, n := range all {
		covered[n.verb+" "+n.resource] = true
	}
	for _, object := range manifestsOf(t, manifests.Namespaced, "any", nil) {
		if object.GetKind() != "Role" {
			continue
		}
		var role rbacv1.Role
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
		for _, rule := range role.Rules {
			require.Len(t, rule.Resources, 1)
			for _, verb := range rule.Verbs {
				require.Contains(t, covered, verb+" "+rule.Resources[0], "a right that nothing is known to need")
			}
		}
	}
}

func can(t *testing.T, who kubernetes.Interface, asked authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review, err := who.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &asked}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return review.Status.Allowed
}

func TestRights_WhatItMayAndWhatItMayNot(t *testing.T) {
	c := onSharedPlane(t)
	c.install(t, manifests.Cluster, manifests.Namespace)
	who := clientOf(t, c.plane.Kubeconfig(controlplane.Controller))
	const lease = "coordination.k8s.io"
	for _, may := range []struct {
		want bool
		authorizationv1.ResourceAttributes
	}{
		{true, authorizationv1.ResourceAttributes{Verb: "watch", Resource: "services"}},
		{true, authorizationv1.ResourceAttributes{Verb: "update", Resource: "services", Subresource: "finalizers"}},
		{true, authorizationv1.ResourceAttributes{Verb: "create", Group: "networking.k8s.io", Resource: "ingresses"}},
		{true, authorizationv1.ResourceAttributes{Verb: "update", Group: lease, Resource: "leases", Namespace: manifests.Namespace, Name: "ingress-controller"}},
		{false, authorizationv1.ResourceAttributes{Verb: "update", Group: lease, Resource: "leases", Namespace: manifests.Namespace, Name: "other"}},
		{false, authorizationv1.ResourceAttributes{Verb: "delete", Group: lease, Resource: "leases", Namespace: manifests.Namespace, Name: "ingress-controller"}},
		{false, authorizationv1.ResourceAttributes{Verb: "list", Group: lease, Resource: "leases", Namespace: manifests.Namespace}},
		{false, authorizationv1.ResourceAttributes{Verb: "get", Group: lease, Resource: "leases", Namespace: "kube-system", Name: "ingress-controller"}},
		{false, authorizationv1.ResourceAttributes{Verb: "create", Group: lease, Resource: "leases", Namespace: "kube-system"}},
		{false, authorizationv1.ResourceAttributes{Verb: "create", Resource: "services"}},
		{false, authorizationv1.ResourceAttributes{Verb: "update", Resource: "services"}},
		{false, authorizationv1.ResourceAttributes{Verb: "patch", Resource: "services"}},
		{false, authorizationv1.ResourceAttributes{Verb: "delete", Resource: "services"}},
		{false, authorizationv1.ResourceAttributes{Verb: "update", Resource: "services", Subresource: "status"}},
		{false, authorizationv1.ResourceAttributes{Verb: "deletecollection", Group: "networking.k8s.io", Resource: "ingresses"}},
		{false, authorizationv1.ResourceAttributes{Verb: "update", Group: "networking.k8s.io", Resource: "ingresses", Subresource: "status"}},
		{false, authorizationv1.ResourceAttributes{Verb: "list", Group: "networking.k8s.io", Resource: "networkpolicies"}},
		{false, authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets"}},
		{false, authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets"}},
		{false, authorizationv1.ResourceAttributes{Verb: "list", Resource: "configmaps"}},
		{false, authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"}},
		{false, authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods"}},
		{false, authorizationv1.ResourceAttributes{Verb: "list", Resource: "events"}},
		{false, authorizationv1.ResourceAttributes{Verb: "list", Resource: "namespaces"}},
		{false, authorizationv1.ResourceAttributes{Verb: "create", Resource: "serviceaccounts", Subresource: "token"}},
		{false, authorizationv1.ResourceAttributes{Verb: "bind", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}},
		{false, authorizationv1.ResourceAttributes{Verb: "impersonate", Resource: "users"}},
		{false, authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}},
	} {
		require.Equal(t, may.want, can(t, who, may.ResourceAttributes), "%+v", may.ResourceAttributes)
	}
}

func TestRights_TheNamespacedWayWorksInItsNamespaceAndNowhereElse(t *testing.T) {
	t.Parallel()
	c := onSharedPlane(t)
	here := &stage{c, t, c.namespace(t, "here")}
	there := &stage{c, t, c.namespace(t, "there")}
	c.install(t, manifests.Namespaced, here.ns)
	p := start(t, c.kubeconfigOf(t, here.ns), deployedArgs(t, manifests.Namespaced, here.ns)...)
	there.service("web", asking)
	here.service("web", asking)
	here.expect("web", defaultHost, 80)
	here.settled()
	require.NoError(t, there.none("web"))
	eventually(t, p.ready)
	require.Error(t, p.said("is forbidden"), "it asks for nothing beyond its namespace")
	who := clientOf(t, c.kubeconfigOf(t, here.ns))
	for _, verb := range []string{"list", "watch", "create", "patch", "delete"} {
		asked := authorizationv1.ResourceAttributes{Verb: verb, Group: networkingv1.GroupName, Resource: "ingresses", Namespace: here.ns}
		require.True(t, can(t, who, asked))
		for _, namespace := range []string{there.ns, ""} {
			asked.Namespace = namespace
			require.False(t, can(t, who, asked), "%s in %q", verb, namespace)
		}
	}
}

// With a forbidden identity the controller neither exits nor hangs, but reports the missing right. When the right is
// granted, it works.
func TestRights_AForbiddenIdentityIsToldWhatIsMissingAndWorksWhenItIsGranted(t *testing.T) {
	c := onSharedPlane(t)
	c.install(t, manifests.Cluster, manifests.Namespace)
	kubeconfig := c.plane.Kubeconfig(controlplane.Stranger)
	me, err := clientOf(t, kubeconfig).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	require.NoError(t, err)
	p := start(t, kubeconfig, "--log-format=json", "--metrics-addr=", "--health-addr=127.0.0.1:0")
	for _, resource := range []string{"services", "ingresses"} {
		refusal := fmt.Sprintf(`User "%s" cannot list resource "%s"`, me.Status.UserInfo.Username, resource)
		eventually(t, func() error { return p.unready(refusal, "at the cluster scope") })
		eventually(t, func() error { return p.said(`"level":"error"`, refusal, "at the cluster scope") })
	}
	code, _, err := p.get("health", "/healthz")
	require.NoError(t, err)
	require.Equal(t, 200, code, "a restart would not help")
	require.True(t, p.alive())

	_, err = c.client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "stranger"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "glasswatch-ingress-controller"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: me.Status.UserInfo.Username}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { // for -count: the control plane is shared
		require.NoError(t, c.client.RbacV1().ClusterRoleBindings().Delete(context.Background(), "stranger", metav1.DeleteOptions{}))
	})
	granted := time.Now()
	eventually(t, p.ready)
	t.Logf("ready %s after the grant", time.Since(granted).Round(time.Millisecond))
	s := &stage{c, t, c.namespace(t, "granted")}
	s.service("web", asking)
	s.expect("web", defaultHost, 80)
}
